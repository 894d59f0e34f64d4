package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/version"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
)

const (
	// maxAdminRequests bounds the concurrent requests of administrators for the state, and maxProfiles
	// those for profiles, which last for up to maxProfileSeconds.
	maxAdminRequests  = 4
	maxProfiles       = 2
	maxProfileSeconds = 60
	// minAdminToken is the minimum length of the token.
	minAdminToken = 16
	// maxAdminRows bounds the callers and the open calls that are shown.
	maxAdminRows = 100
)

// adminState is what administrators see. It has the names of callers and of what they read, and nothing
// of an object or of a credential.
type adminState struct {
	Time    time.Time    `json:"time"`
	Started time.Time    `json:"started"`
	Version version.Info `json:"version"`
	Replica string       `json:"replica"`
	Cluster string       `json:"cluster"`
	Ready   bool         `json:"ready"`
	// Callers and OpenCalls are those with the most bytes, at most 100 of each.
	Callers       []observe.CallerUsage       `json:"callers"`
	CallerCount   int                         `json:"callerCount"`
	OpenCalls     []call.State                `json:"openCalls"`
	OpenCount     int                         `json:"openCount"`
	Caches        []cacheState                `json:"caches"`
	PrivateCaches int                         `json:"privateCaches"` // each serves a single stream, with the permissions of its caller
	Queues        map[string]fairqueue.Use    `json:"queues"`
	Reviews       map[string]auth.ReviewStats `json:"reviews"`
	Settings      config.Values               `json:"settings"` // in effect now; none is secret
}

// cacheState is the state of a cache. The times are zero if they are not known.
type cacheState struct {
	Resource       string                 `json:"resource"`
	Synced         bool                   `json:"synced"`
	Stale          bool                   `json:"stale"`
	LastContact    time.Time              `json:"lastContact"`
	RelistingSince time.Time              `json:"relistingSince,omitzero"`
	WindowSince    time.Time              `json:"windowSince,omitzero"`
	Version        string                 `json:"resourceVersion"`
	Objects        int                    `json:"objects"`
	Bytes          int                    `json:"bytes"`
	Watches        int                    `json:"watches"`
	Relists        int                    `json:"relists"`
	Failures       uint64                 `json:"failures"` // of attempts to list or watch
	Rejected       bool                   `json:"rejected"` // the API server has rejected the last attempt that failed
	Began          informerhub.Beginnings `json:"began"`
}

// admin serves the state of the process and its profiles to those who have the token in a file, which
// is read for each request so that it can be replaced.
type admin struct {
	tokenFile string
	state     func() adminState

	mu       sync.Mutex       // guards failures
	failures logging.Failures // of reading the file
}

// newAdmin returns the handler of --admin-token-file, or nil without it.
func newAdmin(tokenFile string, state func() adminState) (http.Handler, error) {
	if tokenFile == "" {
		return nil, nil
	}
	a := &admin{tokenFile: tokenFile, state: state}
	if _, err := a.token(); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin", a.page)
	mux.HandleFunc("GET /admin/state.json", a.json)
	profiles := http.NewServeMux()
	profiles.HandleFunc("GET /debug/pprof/", pprof.Index)
	profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	all := http.NewServeMux()
	all.Handle("/", limitConcurrency(maxAdminRequests, maxAdminRequests, mux))
	all.Handle("/debug/pprof/", limitConcurrency(maxProfiles, maxProfiles, limitProfiles(profiles)))
	return a.guard(all), nil
}

// limitProfiles rejects profiles that last too long. pprof extends the timeout of the server for them.
func limitProfiles(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seconds := r.FormValue("seconds")
		if n, err := strconv.ParseFloat(seconds, 64); seconds != "" && (err != nil || !(n > 0 && n <= maxProfileSeconds)) {
			http.Error(w, fmt.Sprintf("seconds must be more than 0, and at most %d", maxProfileSeconds), http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *admin) token() (string, error) {
	text, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--admin-token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minAdminToken {
		return "", fmt.Errorf("--admin-token-file %s: the token must have at least %d characters", a.tokenFile, minAdminToken)
	}
	return token, nil
}

// guard passes requests with the token on: as a bearer token, or as the password of any user, for
// browsers.
func (a *admin) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := a.token()
		if a.shouldLog(err) {
			slog.Error("administrators are rejected", "error", err)
		}
		switch {
		case err != nil:
			http.Error(w, "the service cannot read its --admin-token-file", http.StatusServiceUnavailable)
		case !isToken(r, token):
			w.Header().Set("WWW-Authenticate", `Basic realm="kubeconnect: the token of --admin-token-file as the password"`)
			http.Error(w, "send the token of --admin-token-file: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case origins.IsCrossSite(r):
			http.Error(w, "requests of other pages are rejected", http.StatusForbidden)
		default:
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
			next.ServeHTTP(w, r)
		}
	})
}

// ShouldLog reports whether an error of the token file has not been logged yet.
func (a *admin) shouldLog(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failures.ShouldLog(err)
}

func isToken(r *http.Request, token string) bool {
	given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, ok := r.BasicAuth(); ok && !isBearer {
		given = password
	}
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

func (a *admin) json(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(a.state()) // the client may be gone
}

func (a *admin) page(w http.ResponseWriter, _ *http.Request) {
	var page bytes.Buffer
	if err := adminPage.Execute(&page, a.state()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w) // the client may be gone
}

//go:embed admin.html
var adminHTML string

var adminPage = template.Must(template.New("admin").Funcs(template.FuncMap{
	"bytes":   shownBytes,
	"number":  func(n float64) string { return fmt.Sprintf("%.0f", n) },
	"ago":     shownAge,
	"amount":  shownAmount,
	"default": config.IsDefault,
	"seconds": func(s float64) string { return shownDuration(time.Duration(s * float64(time.Second))) },
}).Parse(adminHTML))

// shownBytes returns a number of bytes with a unit.
func shownBytes(n any) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	size := reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float()
	for size >= 1000 && len(units) > 1 {
		size /= 1000
		units = units[1:]
	}
	if units[0] == "B" {
		return fmt.Sprintf("%.0f B", size)
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}

// shownAmount returns an amount of a queue, whose name ends with the unit.
func shownAmount(queue string, n int64) string {
	if strings.HasSuffix(queue, "_bytes") {
		return shownBytes(n)
	}
	return strconv.FormatInt(n, 10)
}

// shownAge returns the time since at; nothing for the zero time.
func shownAge(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return shownDuration(time.Since(at))
}

func shownDuration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// showSettings makes administrators see these settings, until the configuration file changes some of them.
func (s *service) showSettings(started config.Values) {
	s.shown.Store(&started)
	if s.reload != nil {
		s.reload.Show = func(now config.Values) { s.shown.Store(&now) }
	}
}

// state returns what administrators see.
func (s *service) state() adminState {
	callers, open := s.usage.Callers(), s.usage.Open()
	state := adminState{
		Time: time.Now(), Started: s.started, Version: version.Get(), Replica: replicaName(), Cluster: s.host,
		Ready:   s.readiness.IsReady(),
		Callers: callers[:min(len(callers), maxAdminRows)], CallerCount: len(callers),
		OpenCalls: open[:min(len(open), maxAdminRows)], OpenCount: len(open),
		PrivateCaches: s.hub.Totals().Private, Queues: s.metrics.QueueUse(), Reviews: map[string]auth.ReviewStats{}, Settings: *s.shown.Load(),
	}
	for _, status := range s.hub.Status() {
		state.Caches = append(state.Caches, cacheStateOf(status))
	}
	slices.SortFunc(state.Caches, func(a, b cacheState) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for review, source := range s.callers.reviews {
		state.Reviews[review] = source.ReviewStats()
	}
	return state
}

func cacheStateOf(s informerhub.Status) cacheState {
	return cacheState{
		Resource: s.Resource.String(), Synced: s.Synced, Stale: s.Stale, LastContact: s.LastContact,
		RelistingSince: s.RelistingSince, WindowSince: s.WindowSince, Version: s.Version, Objects: s.Objects,
		Bytes: s.Bytes, Watches: s.Watchers, Relists: s.Relists, Failures: s.Failures, Rejected: s.Rejected, Began: s.Beginnings,
	}
}
