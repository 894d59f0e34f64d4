package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

const (
	listPath   = "/kubeconnect.v1.ResourceService/List"
	listByGet  = listPath + "?encoding=json&connect=v1&message=%7B%22resource%22%3A%22pods%22%7D"
	listedSite = "https://app.example.com"
)

func fetched(site, mode string, more ...string) http.Header {
	header := http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}}
	for i := 0; i < len(more); i += 2 {
		header.Set(more[i], more[i+1])
	}
	return header
}

func TestSameSite_PagesOfOtherSitesDoNotReachTheAPI(t *testing.T) {
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}, CORSOrigins: []string{listedSite}}, Authorizer: servertest.NewFakeRights(auth.Namespaces{All: true})})
	for name, test := range map[string]struct {
		header http.Header
		want   int
	}{
		"a program":                            {nil, 200},
		"the console":                          {fetched("same-origin", "cors"), 200},
		"a listed origin":                      {fetched("cross-site", "cors", "Origin", listedSite), 200},
		"a listed origin of the same site":     {fetched("same-site", "cors", "Origin", listedSite), 200},
		"an object of a page":                  {fetched("cross-site", "navigate"), 403},
		"an object of a page of the same site": {fetched("same-site", "navigate"), 403},
		"an image of a page":                   {fetched("cross-site", "no-cors"), 403},
		"a script of a page":                   {fetched("cross-site", "cors", "Origin", "https://evil.example"), 403},
		"a form of a listed origin":            {fetched("cross-site", "navigate", "Origin", listedSite), 403},
		"a browser of the future":              {fetched("elsewhere", "cors"), 403},
	} {
		t.Run(name, func(t *testing.T) {
			answer := send(t, s, http.MethodPost, listPath, `{"resource":"pods"}`, test.header)
			if answer.StatusCode != test.want {
				t.Errorf("returned %d, want %d", answer.StatusCode, test.want)
			}
			if answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("the headers are %v", answer.Header)
			}
			if status := send(t, s, http.MethodGet, "/", "", test.header).StatusCode; status != 200 {
				t.Errorf("the console returned %d", status)
			}
		})
	}
}

func TestGate_ReadsByGETNeedAToken(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		header http.Header
		want   int
	}{
		"without a token":                      {nil, 403},
		"with one":                             {http.Header{"Authorization": {"Bearer x"}}, 200},
		"by an address typed, without a token": {fetched("none", "navigate"), 403},
	} {
		t.Run(name, func(t *testing.T) {
			if answer := send(t, s, http.MethodGet, listByGet, "", test.header); answer.StatusCode != test.want {
				t.Errorf("returned %d, want %d", answer.StatusCode, test.want)
			}
		})
	}
}

func send(t *testing.T, s *service, method, path, body string, header http.Header) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		request.Header = header.Clone()
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}
