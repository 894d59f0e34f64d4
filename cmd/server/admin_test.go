package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

const adminToken = "a-token-of-an-administrator"

// startAdmin serves what administrators see, and returns the address and the file with the token.
func startAdmin(t *testing.T) (url, tokenFile string) {
	t.Helper()
	tokenFile = filepath.Join(t.TempDir(), "token")
	succeeds(t, os.WriteFile(tokenFile, []byte(adminToken+"\n"), 0o600))
	state := func() adminState {
		return adminState{
			Replica: "replica-1", Started: time.Now(), CallerCount: 1,
			Callers:  []observe.CallerUsage{{Caller: "<jane>", OpenStreams: 2, PerMinute: call.Traffic{Bytes: 2e6}}},
			Caches:   []cacheState{cacheStateOf(informerhub.Status{Freshness: informerhub.Freshness{Stale: true}, Synced: true, Rejected: true, Failures: 7})},
			Settings: map[string]string{"listen": ":8080"},
		}
	}
	admin, err := newAdmin(tokenFile, state)
	succeeds(t, err)
	logged := servertest.CaptureLog(t)
	stop, err := serveMetrics(metricsOptions{address: "127.0.0.1:0", load: http.NotFoundHandler(), admin: admin})
	succeeds(t, err)
	t.Cleanup(stop)
	return strings.TrimSuffix(addressIn(logged), "/metrics"), tokenFile
}

// askAdmin returns the response to a request that edit has changed.
func askAdmin(t *testing.T, url string, edit func(*http.Request)) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	succeeds(t, err)
	edit(request)
	response, err := http.DefaultClient.Do(request)
	succeeds(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	succeeds(t, err)
	return response.StatusCode, string(text)
}

func withBearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func TestAdmin_RequiresTheToken(t *testing.T) {
	url, _ := startAdmin(t)
	for _, path := range []string{"/admin", "/admin/state.json", "/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/symbol", "/admin/nosuch"} {
		for name, edit := range map[string]func(*http.Request){
			"nothing":       func(*http.Request) {},
			"another token": withBearer("another-token-as-long-as-it"),
			"a part of it":  withBearer(adminToken[:20]),
			"an empty one":  withBearer(""),
			"as the user":   func(r *http.Request) { r.SetBasicAuth(adminToken, "") },
		} {
			if status, body := askAdmin(t, url+path, edit); status != http.StatusUnauthorized || strings.Contains(body, "jane") {
				t.Errorf("%s with %s: %d %s", path, name, status, body)
			}
		}
	}
	if status, _ := askAdmin(t, url+"/metrics", func(*http.Request) {}); status != http.StatusOK {
		t.Errorf("metrics without a token: %d", status)
	}
}

func TestAdmin_ServesStateAndProfiles(t *testing.T) {
	url, _ := startAdmin(t)
	_, text := askAdmin(t, url+"/admin/state.json", withBearer(adminToken))
	var state adminState
	succeeds(t, json.Unmarshal([]byte(text), &state))
	if state.Replica != "replica-1" || len(state.Callers) != 1 || state.Callers[0].OpenStreams != 2 {
		t.Errorf("the state is %s", text)
	}
	_, page := askAdmin(t, url+"/admin", func(r *http.Request) { r.SetBasicAuth("anyone", adminToken) })
	if !strings.Contains(page, "&lt;jane&gt;") || !strings.Contains(page, "2.0 MB") || strings.Contains(page, adminToken) {
		t.Errorf("the page is %s", page)
	}
	if status, profile := askAdmin(t, url+"/debug/pprof/goroutine?debug=1", withBearer(adminToken)); status != http.StatusOK || !strings.Contains(profile, "goroutine profile") {
		t.Errorf("the profile: %d %s", status, profile)
	}
	for site, want := range map[string]int{
		"cross-site": http.StatusForbidden, "same-site": http.StatusForbidden, "same-origin": http.StatusOK, "none": http.StatusOK,
	} {
		from := func(r *http.Request) { withBearer(adminToken)(r); r.Header.Set("Sec-Fetch-Site", site) }
		if status, _ := askAdmin(t, url+"/admin", from); status != want {
			t.Errorf("Sec-Fetch-Site %s: %d", site, status)
		}
	}
}

func TestAdmin_BoundsProfiles(t *testing.T) {
	url, _ := startAdmin(t)
	for _, seconds := range []string{"100000", "61", "0", "-1", "NaN", "Inf", "1e9", "many"} {
		for _, profile := range []string{"profile", "trace", "goroutine", "heap"} {
			path := "/debug/pprof/" + profile + "?seconds=" + seconds
			if status, _ := askAdmin(t, url+path, withBearer(adminToken)); status != http.StatusBadRequest {
				t.Errorf("%s: %d", path, status)
			}
		}
	}
}

func TestAdmin_LogsAnUnreadableTokenFileOnce(t *testing.T) {
	url, tokenFile := startAdmin(t)
	logged := servertest.CaptureLog(t)
	succeeds(t, os.Remove(tokenFile))
	for range 30 {
		_, _ = askAdmin(t, url+"/admin", func(*http.Request) {})
	}
	if lines := logged.Count("administrators are rejected"); lines != 1 {
		t.Errorf("%d lines, want 1", lines)
	}
}

func TestAdmin_FollowsTheTokenFile(t *testing.T) {
	url, tokenFile := startAdmin(t)
	const next = "the-next-token-of-administrators"
	succeeds(t, os.WriteFile(tokenFile, []byte(next), 0o600))
	if status, _ := askAdmin(t, url+"/admin", withBearer(adminToken)); status != http.StatusUnauthorized {
		t.Errorf("with the old token: %d", status)
	}
	if status, _ := askAdmin(t, url+"/admin", withBearer(next)); status != http.StatusOK {
		t.Errorf("with the next token: %d", status)
	}
	succeeds(t, os.Remove(tokenFile))
	if status, _ := askAdmin(t, url+"/admin", withBearer(next)); status != http.StatusServiceUnavailable {
		t.Errorf("without the file: %d", status)
	}
}

func TestAdmin_RejectsAFileWithoutAToken(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	succeeds(t, os.WriteFile(short, []byte("short\n"), 0o600))
	for _, file := range []string{short, filepath.Join(t.TempDir(), "nosuch")} {
		if _, err := newAdmin(file, nil); err == nil || !strings.Contains(err.Error(), "--admin-token-file") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAdmin_ShowsWhyACacheIsStale(t *testing.T) {
	url, _ := startAdmin(t)
	_, page := askAdmin(t, url+"/admin", withBearer(adminToken))
	for _, want := range []string{"stale</span>, rejected by the API server", `<td class="n">7<td`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing in\n%s", want, page)
		}
	}
}
