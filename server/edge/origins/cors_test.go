package origins

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

func TestCheckOrigin_AcceptsOriginsAsBrowsersSendThem(t *testing.T) {
	for origin, says := range map[string]string{
		"https://app.example.com":       "",
		"http://localhost:3000":         "",
		"http://127.0.0.1:3000":         "",
		"http://[::1]:3000":             "",
		"https://app.example.com:8443":  "",
		"*":                             "name each origin in full",
		"https://*.example.com":         "name each origin in full",
		"null":                          "https://app.example.com",
		"":                              "https://app.example.com",
		"app.example.com":               "https://app.example.com",
		"ftp://app.example.com":         "http:// or https://",
		"https://":                      "with a host",
		"https://:443":                  "with a host",
		"https://app.example.com/":      `"https://app.example.com"`,
		"https://app.example.com/a?b#c": `"https://app.example.com"`,
		"https://app.example.com:443":   `"https://app.example.com"`,
		"http://app.example.com:80":     `"http://app.example.com"`,
		"HTTPS://App.example.com":       `"https://app.example.com"`,
		"https://me@app.example.com":    `"https://app.example.com"`,
		"https://[::1":                  "not a valid URL",
	} {
		t.Run(origin, func(t *testing.T) {
			switch err := CheckOrigin(origin); {
			case (err == nil) != (says == ""):
				t.Errorf("returned %v", err)
			case err != nil && !strings.Contains(err.Error(), says):
				t.Errorf("returned %v, want %q in it", err, says)
			}
		})
	}
}

func TestCORS_SendsNoHeadersWithoutOrigins(t *testing.T) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	request.Header.Set("Origin", "https://app.example.com")
	CORS(nil, http.NotFoundHandler()).ServeHTTP(answer, request)
	for name := range answer.Header() {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			t.Errorf("%s is sent", name)
		}
	}
}

// TestCORS_AllowsOnlyListedOrigins has the handler respond to every call that reaches it. The
// browser decides by the headers what a page can do with a response.
func TestCORS_AllowsOnlyListedOrigins(t *testing.T) {
	handler := CORS([]string{"https://app.example.com", "http://localhost:3000"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for origin, listed := range map[string]bool{
		"https://app.example.com":      true,
		"http://localhost:3000":        true,
		"http://app.example.com":       false,
		"https://app.example.com:8443": false,
		"https://app.example.com.evil": false,
		"https://evil-app.example.com": false,
		"http://localhost":             false,
		"null":                         false,
	} {
		for _, method := range []string{http.MethodOptions, http.MethodPost, http.MethodGet} {
			t.Run(method+" "+origin, func(t *testing.T) {
				answer := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
				request.Header.Set("Origin", origin)
				if method == http.MethodOptions {
					request.Header.Set("Access-Control-Request-Method", http.MethodPost)
				}
				handler.ServeHTTP(answer, request)
				allowed := answer.Header().Get("Access-Control-Allow-Origin")
				if (allowed == origin) != listed || (allowed == "") == listed {
					t.Errorf("allowed: %q", allowed)
				}
				if answer.Header().Get("Access-Control-Allow-Credentials") != "" {
					t.Error("cookies are allowed")
				}
				if !strings.Contains(answer.Header().Get("Vary"), "Origin") {
					t.Error("a cache may return the response to another origin")
				}
			})
		}
	}
}

func TestCORS_PagesCanSendAndReadTagsAndReadTheReplica(t *testing.T) {
	const origin = "https://app.example.com"
	handler := CORS([]string{origin}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "/", nil)
	request.Header.Set("Origin", origin)
	request.Header.Set("Access-Control-Request-Method", http.MethodGet)
	request.Header.Set("Access-Control-Request-Headers", "authorization,if-none-match")
	preflight := httptest.NewRecorder()
	handler.ServeHTTP(preflight, request)
	if allowed := preflight.Header().Get("Access-Control-Allow-Headers"); allowed != "authorization,if-none-match" {
		t.Errorf("allowed are %q", allowed)
	}
	request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	request.Header.Set("Origin", origin)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	exposed := strings.ToLower(answer.Header().Get("Access-Control-Expose-Headers"))
	if !strings.Contains(exposed, "etag") || !strings.Contains(exposed, strings.ToLower(call.ReplicaHeader)) {
		t.Errorf("exposed are %q", exposed)
	}
}
