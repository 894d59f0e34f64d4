package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/cmd/server/serving"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/audit"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/edge/memorylimit"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// startMetrics serves metrics until the test ends, and returns their address.
func startMetrics(t *testing.T, collected ...prometheus.Collector) (url string) {
	t.Helper()
	logged := servertest.CaptureLog(t)
	stop, err := serveMetrics(metricsOptions{address: "127.0.0.1:0", load: http.NotFoundHandler()}, collected...)
	succeeds(t, err)
	t.Cleanup(stop)
	return addressIn(logged)
}

// addressIn returns the address that serveMetrics logged. A log line of a cache can precede it.
func addressIn(logged *servertest.Log) string {
	line := regexp.MustCompile(`msg=metrics address=(\S+)`).FindStringSubmatch(logged.String())
	if line == nil {
		return ""
	}
	return line[1]
}

// ask returns the status and the body of a response.
func ask(t *testing.T, method, url string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	succeeds(t, err)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	succeeds(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	succeeds(t, err)
	return answer.StatusCode, string(body)
}

// serviceMetrics returns all collectors of a service with one cache.
func serviceMetrics(t *testing.T) []prometheus.Collector {
	t.Helper()
	cluster := &rest.Config{Host: "http://127.0.0.1:1"} // no server listens there
	hub, err := informerhub.New(cluster, informerhub.Options{})
	succeeds(t, err)
	t.Cleanup(hub.Close)
	clients, err := auth.NewClientFactory(cluster, change.NoteOutcome)
	succeeds(t, err)
	asked, cancel := context.WithCancel(t.Context())
	cancel() // the request is sufficient: the cache need not have a snapshot
	_, _ = hub.Cache(asked, informerhub.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Watchable: true})
	reviews := newCallers(config.Settings{Auth: config.AuthCluster}, clients).reviews
	return []prometheus.Collector{observe.NewMetrics(), observe.NewCollector(hub, reviews), observe.NewTotals(hub), observe.NewUnread(observe.NewUsage()), new(health.Readiness).Metric(), memorylimit.NewMonitor(), audit.NewOutput(audit.Stdout)}
}

func TestMetrics_ShowServiceAndProcess(t *testing.T) {
	_, text := ask(t, http.MethodGet, startMetrics(t, serviceMetrics(t)...))
	for _, want := range []string{
		"go_goroutines ", "process_start_time_seconds ", "kubeconnect_watch_delay_seconds_count 0", "kubeconnect_caches_started_total 1", "kubeconnect_memory_limit_bytes ",
		`kubeconnect_cache_synced{resource="pods.v1"} 0`,
		`kubeconnect_auth_reviews_total{review="TokenReview"} 0`, `kubeconnect_auth_reviews_total{review="SubjectAccessReview"} 0`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}

func TestMetrics_PassPrometheusLinter(t *testing.T) {
	_, text := ask(t, http.MethodGet, startMetrics(t, serviceMetrics(t)...))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint reports %v, %v", problems, err)
	}
}

// reloaderOf returns the reloader of a configuration file without fields.
func reloaderOf(t *testing.T) *config.Reloader {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	args := []string{"--config", "config/testdata/empty.yaml"}
	read, err := config.Parse(args, none, nil)
	succeeds(t, err)
	return config.NewReloader(args, none, read, &slog.LevelVar{})
}

// TestMetrics_AreDescribedInTheDocumentation compares the metrics and their labels with the tables of
// docs/metrics.md.
func TestMetrics_AreDescribedInTheDocumentation(t *testing.T) {
	all := append(serviceMetrics(t), new(serving.CertificateExpiry).Metric(), newClientCertificateExpiry(&rest.Config{}), restClientMetrics, buildInfo())
	all = append(append(all, serving.NewCounts().Metrics()...), reloaderOf(t).Collectors()...)
	var served []string
	for _, collected := range all {
		descs := make(chan *prometheus.Desc)
		go func() {
			defer close(descs)
			collected.Describe(descs)
		}()
		for desc := range descs {
			found := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: {(.*)}}`).FindStringSubmatch(desc.String())
			served = append(served, found[1]+" "+found[2])
		}
	}
	text, err := os.ReadFile("../../docs/metrics.md")
	succeeds(t, err)
	var described []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*?) ?\\|").FindAllStringSubmatch(string(text), -1) {
		described = append(described, row[1]+" "+strings.NewReplacer("`", "", " ", "").Replace(row[2]))
	}
	slices.Sort(served)
	slices.Sort(described)
	if !slices.Equal(served, described) {
		t.Errorf("served are\n%s\nand described\n%s", strings.Join(served, "\n"), strings.Join(described, "\n"))
	}
}

func TestMetrics_AreServedByGETAtOnePath(t *testing.T) {
	url := startMetrics(t)
	for path, want := range map[string]map[string]int{
		"/metrics":      {http.MethodGet: http.StatusOK, http.MethodPost: http.StatusMethodNotAllowed, http.MethodDelete: http.StatusMethodNotAllowed},
		"/":             {http.MethodGet: http.StatusNotFound},
		"/metrics/":     {http.MethodGet: http.StatusNotFound},
		"/debug/pprof/": {http.MethodGet: http.StatusNotFound},
	} {
		for method, want := range want {
			if status, _ := ask(t, method, strings.TrimSuffix(url, "/metrics")+path); status != want {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
	}
}

// TestMetrics_AreForKnownClientsWhileTheClusterIsAway requires a permission, which no API server can decide about.
func TestMetrics_AreForKnownClientsWhileTheClusterIsAway(t *testing.T) {
	clients, err := auth.NewClientFactory(&rest.Config{Host: "http://127.0.0.1:1"}, change.NoteOutcome) // no server listens there
	succeeds(t, err)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "Bearer x": http.StatusServiceUnavailable} {
		handler := newCallers(config.Settings{Auth: config.AuthCluster}, clients).requireMetrics(http.NotFoundHandler())
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, metricsPath, nil)
		request.Header.Set("Authorization", token)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != want || strings.Contains(recorder.Body.String(), "127.0.0.1:1") {
			t.Errorf("with %q: %d %s", token, recorder.Code, recorder.Body)
		}
	}
}

func TestMetrics_StopClosesTheListener(t *testing.T) {
	logged := servertest.CaptureLog(t)
	stop, err := serveMetrics(metricsOptions{address: "127.0.0.1:0", load: http.NotFoundHandler()})
	succeeds(t, err)
	url := addressIn(logged)
	if status := get(t, url); status != http.StatusOK {
		t.Errorf("before: %d", status)
	}
	stop()
	if status := get(t, url); status != 0 {
		t.Errorf("after: %d", status)
	}
	if logged.Count("level=ERROR") > 0 {
		t.Errorf("the log is %s", logged.String())
	}
}

func TestMetrics_AreDisabledWithoutAddress(t *testing.T) {
	logged := servertest.CaptureLog(t)
	stop, err := serveMetrics(metricsOptions{load: http.NotFoundHandler()})
	succeeds(t, err)
	stop()
	if logged.Count("metrics") > 0 {
		t.Error("the log contains metrics")
	}
}

// brokenCollector collects one metric twice.
type brokenCollector struct{ desc *prometheus.Desc }

func (b brokenCollector) Describe(to chan<- *prometheus.Desc) { to <- b.desc }

func (b brokenCollector) Collect(to chan<- prometheus.Metric) {
	for _, one := range slices.Repeat([]*prometheus.Desc{b.desc}, 2) {
		to <- prometheus.MustNewConstMetric(one, prometheus.GaugeValue, 1)
	}
}

func TestMetrics_CollectionErrorsAreReturnedAndLogged(t *testing.T) {
	logged := servertest.CaptureLog(t)
	answer := httptest.NewRecorder()
	handler := metricsHandler(metricsOptions{load: http.NotFoundHandler()}, []prometheus.Collector{brokenCollector{prometheus.NewDesc("twice", "help", nil, nil)}})
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusInternalServerError || logged.Count("twice") == 0 {
		t.Errorf("status is %d, and the log is %s", answer.Code, logged.String())
	}
}

// unreadResponse is a response whose client does not read before the channel is closed.
type unreadResponse struct {
	*httptest.ResponseRecorder
	begun   *atomic.Int32
	release <-chan struct{}
}

func (u unreadResponse) Write(content []byte) (int, error) {
	if u.Code == http.StatusOK {
		u.begun.Add(1)
		<-u.release
	}
	return u.ResponseRecorder.Write(content)
}

// TestMetricsHandler_IsFairByAddress has one client, and then several, that do not read what they request,
// in fake time.
func TestMetricsHandler_IsFairByAddress(t *testing.T) {
	for _, path := range []string{"/metrics", loadPath} {
		t.Run(path, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				load := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("1")) })
				handler := metricsHandler(metricsOptions{load: load}, nil)
				from := func(w http.ResponseWriter, client int) {
					request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
					request.RemoteAddr = fmt.Sprintf("10.0.0.%d:1234", client)
					handler.ServeHTTP(w, request)
				}
				status := func(client int) int {
					answer := httptest.NewRecorder()
					from(answer, client)
					return answer.Code
				}
				var begun atomic.Int32
				release := make(chan struct{})
				var asking sync.WaitGroup
				floods := func(client int) {
					for range 60 {
						asking.Go(func() { from(unreadResponse{httptest.NewRecorder(), &begun, release}, client) })
					}
					synctest.Wait()
				}
				floods(1)
				if begun.Load() != maxScrapesOfAddress {
					t.Errorf("%d responses to one client have begun", begun.Load())
				}
				for range 10 {
					if got := status(2); got != http.StatusOK {
						t.Errorf("another client gets %d", got)
					}
				}
				if got := status(1); got != http.StatusServiceUnavailable {
					t.Errorf("the client that does not read gets %d", got)
				}
				for client := range 50 {
					floods(10 + client)
				}
				if begun.Load() != maxScrapes {
					t.Errorf("%d responses to all clients have begun", begun.Load())
				}
				close(release)
				asking.Wait()
				if got := status(1); got != http.StatusOK {
					t.Errorf("later the client gets %d", got)
				}
			})
		})
	}
}

// dialMetrics opens a connection to the address of metrics until the test ends.
func dialMetrics(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics"))
	succeeds(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// statusOf sends a request with a header of some length, and returns its status; 0 if the connection ends.
func statusOf(conn net.Conn, length int) int {
	if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", length)+"\r\n\r\n"); err != nil {
		return 0
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestMetrics_ConnectionsOfAnAddressAreBounded(t *testing.T) {
	url := startMetrics(t)
	var open []net.Conn
	for range maxMetricsConnectionsOfAddress {
		open = append(open, dialMetrics(t, url))
	}
	if status := statusOf(open[len(open)-1], 1); status != http.StatusOK {
		t.Errorf("a connection within the limit: %d", status)
	}
	for range 3 {
		if status := statusOf(dialMetrics(t, url), 1); status != 0 {
			t.Errorf("a connection above the limit: %d", status)
		}
	}
}

func TestMetrics_HeadersAreBounded(t *testing.T) {
	url := startMetrics(t)
	for length, want := range map[int]int{20 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		if status := statusOf(dialMetrics(t, url), length); status != want {
			t.Errorf("%d bytes: %d, want %d", length, status, want)
		}
	}
}
