package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

var built = fstest.MapFS{
	".gitkeep":    {},
	"index.html":  {Data: []byte("<!doctype html>")},
	"app.js":      {Data: []byte("export {}")},
	"style.css":   {Data: []byte("body{}")},
	"favicon.svg": {Data: []byte("<svg/>")},
}

var notBuilt = fstest.MapFS{".gitkeep": {}}

func serve(files fstest.MapFS, request *http.Request) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	newHandler(files, Config{}).ServeHTTP(response, request)
	return response
}

func TestAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		files        fstest.MapFS
		method, path string
		status       int
		contentType  string
		body         string
	}{
		"the page is at the root":            {built, "GET", "/", 200, "text/html; charset=utf-8", "<!doctype html>"},
		"the page has its script":            {built, "GET", "/app.js", 200, "text/javascript; charset=utf-8", "export {}"},
		"the page has its style":             {built, "GET", "/style.css", 200, "text/css; charset=utf-8", "body{}"},
		"the page has its icon":              {built, "GET", "/favicon.svg", 200, "image/svg+xml", "<svg/>"},
		"HEAD has no body":                   {built, "HEAD", "/", 200, "text/html; charset=utf-8", ""},
		"nothing is changed here":            {built, "POST", "/", 405, "text/plain; charset=utf-8", "GET and HEAD only"},
		"a view is the page":                 {built, "GET", "/o/configmaps/default/kube-root-ca.crt", 200, "text/html; charset=utf-8", "<!doctype html>"},
		"the issuer's answer is the page":    {built, "GET", "/signin/callback?code=x", 200, "text/html; charset=utf-8", "<!doctype html>"},
		"a service without an issuer":        {built, "GET", "/console.json", 200, "application/json", "{}"},
		"a script is no view":                {built, "GET", "/assets/r/app.js", 404, "text/plain; charset=utf-8", "no such file"},
		"unknown files are not found":        {built, "GET", "/nothing.js", 404, "text/plain; charset=utf-8", "no such file"},
		"a folder is not listed":             {built, "GET", "/assets/", 404, "text/plain; charset=utf-8", "no such file"},
		"other files are not served":         {built, "GET", "/.gitkeep", 404, "text/plain; charset=utf-8", "no such file"},
		"without a build, it says how":       {notBuilt, "GET", "/", 503, "text/plain; charset=utf-8", "make build"},
		"without a build, files are missing": {notBuilt, "GET", "/app.js", 404, "text/plain; charset=utf-8", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			response := serve(test.files, httptest.NewRequest(test.method, test.path, nil))
			if response.Code != test.status {
				t.Errorf("status %d, want %d", response.Code, test.status)
			}
			if got := response.Header().Get("Content-Type"); got != test.contentType {
				t.Errorf("content type %q, want %q", got, test.contentType)
			}
			if got := response.Body.String(); !strings.Contains(got, test.body) || (test.body == "") != (got == "") {
				t.Errorf("body %q does not contain %q", got, test.body)
			}
			if got := response.Header().Get("Content-Security-Policy"); !strings.Contains(got, "frame-ancestors 'none'") {
				t.Errorf("Content-Security-Policy %q allows other origins to frame the page", got)
			}
			if got := response.Header().Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options %q, want nosniff", got)
			}
		})
	}
}

func TestAnUnknownAddressIsThePageForPeople(t *testing.T) {
	for name, test := range map[string]struct {
		files                      fstest.MapFS
		method, path, accept, body string
	}{
		"a browser gets the page":             {built, "GET", "/pods", "text/html,*/*;q=0.8", "<!doctype html>"},
		"nothing of the address is in it":     {built, "GET", "/<script>", "text/html", "<!doctype html>"},
		"HEAD has no body":                    {built, "HEAD", "/pods", "text/html", ""},
		"a script gets a message":             {built, "GET", "/pods", "*/*", "the console has no such file\n"},
		"so does a browser without the build": {notBuilt, "GET", "/pods", "text/html", "the console has no such file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(test.method, "/", nil)
			request.URL.Path = test.path
			request.Header.Set("Accept", test.accept)
			response := serve(test.files, request)
			if response.Code != http.StatusNotFound {
				t.Errorf("status %d, want 404", response.Code)
			}
			if got := response.Body.String(); got != test.body {
				t.Errorf("body %q, want %q", got, test.body)
			}
			if got := response.Header().Get("Vary"); got != "Accept" {
				t.Errorf("Vary %q, want Accept", got)
			}
		})
	}
}

func TestAnUnchangedFileIsNotSentAgain(t *testing.T) {
	etag := serve(built, httptest.NewRequest("GET", "/app.js", nil)).Header().Get("ETag")
	if etag == "" {
		t.Fatal("no ETag")
	}
	request := httptest.NewRequest("GET", "/app.js", nil)
	request.Header.Set("If-None-Match", etag)
	if response := serve(built, request); response.Code != http.StatusNotModified {
		t.Errorf("status %d, want 304", response.Code)
	}
}

// written records the lengths of the writes to a response.
type written struct {
	*httptest.ResponseRecorder
	lengths []int
}

func (w *written) Write(p []byte) (int, error) {
	w.lengths = append(w.lengths, len(p))
	return w.ResponseRecorder.Write(p)
}

// TestAFileIsWrittenWithoutACopy is about clients that do not read: a copy would stay in memory until they do.
func TestAFileIsWrittenWithoutACopy(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	h := newHandler(fstest.MapFS{"index.html": {}, "app.js": {Data: content}}, Config{})
	for ranges, want := range map[string][]byte{"": content, "bytes=5-123456": content[5:123457], "bytes=-7": content[len(content)-7:]} {
		request, response := httptest.NewRequest("GET", "/app.js", nil), &written{ResponseRecorder: httptest.NewRecorder()}
		if ranges != "" {
			request.Header.Set("Range", ranges)
		}
		h.ServeHTTP(response, request)
		if !bytes.Equal(response.Body.Bytes(), want) || len(response.lengths) != 1 {
			t.Errorf("%q: %d bytes in writes of %v, want %d in one", ranges, response.Body.Len(), response.lengths, len(want))
		}
	}
}

func TestHandlerServesWhatIsEmbedded(t *testing.T) {
	response := httptest.NewRecorder()
	Handler(Config{}).ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
	if response.Code != http.StatusOK && response.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 200, or 503 if the page was not built", response.Code)
	}
}

var issuer = Config{Issuer: &Issuer{
	URL: "https://issuer.example:8443/realms/one", ClientID: "console", Scopes: []string{"openid", "email"},
	EndpointOrigins: []string{"https://tokens.example"},
}}

func serveWithIssuer(path string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	newHandler(built, issuer).ServeHTTP(response, httptest.NewRequest("GET", path, nil))
	return response
}

func TestConfig_HasWhatThePageNeedsToSignIn(t *testing.T) {
	response := serveWithIssuer("/console.json")
	want := `{"issuer":{"url":"https://issuer.example:8443/realms/one","clientId":"console","scopes":["openid","email"]}}`
	if got := response.Body.String(); got != want {
		t.Errorf("the configuration is %s, want %s", got, want)
	}
	if got := response.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
}

// TestPolicy_AllowsOnlyConnectionsToTheIssuer checks that an issuer changes nothing else.
func TestPolicy_AllowsOnlyConnectionsToTheIssuer(t *testing.T) {
	const header = "Content-Security-Policy"
	without := serve(built, httptest.NewRequest("GET", "/", nil)).Header().Get(header)
	if !strings.Contains(without, "; connect-src 'self'; ") {
		t.Errorf("without an issuer the page can connect to other origins: %s", without)
	}
	want := strings.Replace(without, "connect-src 'self'", "connect-src 'self' https://issuer.example:8443 https://tokens.example", 1)
	if got := serveWithIssuer("/").Header().Get(header); got != want {
		t.Errorf("with an issuer the policy is %s, want %s", got, want)
	}
}
