package limits_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// scrape adds checks to the metrics of a service.
type scrape struct{ kit.Scrape }

func scrapeOf(ctx context.Context, t *testing.T, service *harness.Service) scrape {
	t.Helper()
	return scrape{kit.ScrapeOf(ctx, t, service)}
}

// wantSeries blocks until these series have exactly these values.
func wantSeries(ctx context.Context, t *testing.T, service *harness.Service, want map[string]float64) {
	t.Helper()
	kit.Eventually(ctx, t, "the metrics count the calls", func() (differ error) {
		shown := scrapeOf(ctx, t, service).Series
		for name, number := range want {
			if got, ok := shown[name]; !ok || got != number {
				differ = errors.Join(differ, fmt.Errorf("%s is %v, want %v", name, got, number))
			}
		}
		return differ
	})
}

func TestMetrics_CountCallsAndNameNoCallers(t *testing.T) {
	t.Parallel()
	ctx, service, began := kit.Deadline(t), kit.StartForCallers(t, kit.MetricsFlags...), time.Now()
	group, namespace := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), group)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "object-of-nobodys-business", nil)
	gadgets.Create("v1", namespace, "another-one", nil)
	reader := kit.NewAccount(ctx, t, namespace, "caller-of-nobodys-business")
	reader.GrantIn(namespace, "role-of-nobodys-business", rbacv1.PolicyRule{APIGroups: []string{gadgets.Group}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list", "watch"}})

	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	events, tokens := 0, []string{"bogus-token"}
	for _, protocol := range harness.Protocols {
		token := reader.Token()
		tokens = append(tokens, token)
		events += len(callEverything(watching, t, gadgets.Name(), namespace, kit.CallingWith(t, service, protocol, token).Resources))
		_, err := kit.CallingWith(t, service, protocol, "bogus-token").Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Name: "a"})
		kit.WantError(t, err, connect.CodeUnauthenticated)
	}
	callWhatIsNoMethod(ctx, t, service)

	each := float64(len(harness.Protocols))
	resource := "{resource=gadgets.v1." + gadgets.Group + "}"
	wantSeries(ctx, t, service, map[string]float64{
		"kubeconnect_calls_total" + endOf(kubeconnectv1connect.ResourceServiceGetProcedure, "ok"):              each,
		"kubeconnect_calls_total" + endOf(kubeconnectv1connect.ResourceServiceGetProcedure, "not_found"):       each,
		"kubeconnect_calls_total" + endOf(kubeconnectv1connect.ResourceServiceGetProcedure, "unauthenticated"): each,
		"kubeconnect_calls_total" + endOf(kubeconnectv1connect.ResourceServiceListProcedure, "ok"):             each,
		"kubeconnect_call_duration_seconds" + forProcedure(kubeconnectv1connect.ResourceServiceGetProcedure):   2 * each,
		"kubeconnect_call_duration_seconds" + forProcedure(kubeconnectv1connect.ResourceServiceListProcedure):  each,
		"kubeconnect_streams" + forProcedure(kubeconnectv1connect.ResourceServiceWatchProcedure):               each,
		"kubeconnect_cache_watchers" + resource:                                                                each,
		"kubeconnect_cache_objects" + resource:                                                                 2,
		"kubeconnect_cache_synced" + resource:                                                                  1,
		"kubeconnect_cache_stale" + resource:                                                                   0,
		"kubeconnect_auth_review_failures_total{review=TokenReview}":                                           0,
		"kubeconnect_auth_review_failures_total{review=SubjectAccessReview}":                                   0,
	})
	shown := scrapeOf(ctx, t, service)
	shown.wantAtLeast(t, map[string]float64{
		"kubeconnect_sent_events_total" + resource:                    float64(events),
		"kubeconnect_cache_bytes" + resource:                          1,
		"kubeconnect_auth_reviews_total{review=TokenReview}":          float64(len(tokens)),
		"kubeconnect_auth_reviews_total{review=SubjectAccessReview}":  1,
		"kubeconnect_auth_cache_hits_total{review=TokenReview}":       1,
		"kubeconnect_cache_last_contact_timestamp_seconds" + resource: float64(began.Unix()),
		"go_goroutines{}":              1,
		"process_start_time_seconds{}": 1,
	})
	shown.wantNoLabelsButKnownOnes(t)
	shown.wantNowhere(t, append(tokens, namespace, reader.User(), reader.Name, "nobodys-business", "another-one", "Made.Up")...)
	shown.wantCleanLint(t)

	cancel()
	wantSeries(ctx, t, service, map[string]float64{
		"kubeconnect_streams" + forProcedure(kubeconnectv1connect.ResourceServiceWatchProcedure):          0,
		"kubeconnect_calls_total" + endOf(kubeconnectv1connect.ResourceServiceWatchProcedure, "canceled"): each,
		"kubeconnect_cache_watchers" + resource:                                                           0,
	})
}

func forProcedure(procedure string) string { return "{procedure=" + procedure + "}" }

func endOf(procedure, code string) string { return "{code=" + code + ",procedure=" + procedure + "}" }

// callEverything reads one object, a missing one, and all of them, and leaves a watch open until
// the context ends. It returns the events of the watch.
func callEverything(watching context.Context, t *testing.T, resource, namespace string, client kit.ResourceClient) []*kubeconnectv1.Event {
	t.Helper()
	ctx := kit.Deadline(t)
	if _, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "object-of-nobodys-business"}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: namespace, Name: "nobodys-business"})
	kit.WantError(t, err, connect.CodeNotFound)
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace}); err != nil {
		t.Fatal(err)
	}
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace})
	context.AfterFunc(watching, stream.Close)
	return stream.Synced(ctx).Events
}

// callWhatIsNoMethod calls invented paths.
func callWhatIsNoMethod(ctx context.Context, t *testing.T, service *harness.Service) {
	t.Helper()
	for _, path := range []string{"/kubeconnect.v1.ResourceService/Made.Up", "/Made.Up/Get", "/Made.Up"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, service.Address+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := harness.HTTP2(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode/100 != 4 {
			t.Errorf("%s returned %s", path, answer.Status)
		}
	}
}

func (s scrape) wantAtLeast(t *testing.T, want map[string]float64) {
	t.Helper()
	for name, number := range want {
		if got, ok := s.Series[name]; !ok || got < number {
			t.Errorf("%s is %v, want at least %v", name, got, number)
		}
	}
}

// knownLabels maps the labels of the service's own series to patterns of their values.
var knownLabels = map[string]*regexp.Regexp{
	"began_with": regexp.MustCompile(`^(snapshot|each_step|latest_states|reset)$`),
	"code":       regexp.MustCompile(`^(ok|not_found|unauthenticated)$`),
	"goversion":  regexp.MustCompile(`^go1\.`),
	"limit":      regexp.MustCompile(`^[a-z_]+$`),
	"procedure":  regexp.MustCompile(`^/kubeconnect\.v1\.ResourceService/(Get|List|Watch)$`),
	"queue":      regexp.MustCompile(`^[a-z_]+$`),
	"reason":     regexp.MustCompile(`^(memory|collector)$`),
	"resource":   regexp.MustCompile(`^(gadgets\.v1\.e2e-[a-z0-9]+\.example\.com)?$`),
	"revision":   regexp.MustCompile(`^[0-9a-f]*(-dirty)?$`),
	"review":     regexp.MustCompile(`^(TokenReview|SubjectAccessReview)$`),
	"version":    regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`),
}

func (s scrape) wantNoLabelsButKnownOnes(t *testing.T) {
	t.Helper()
	for series := range s.Series {
		name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
		if !strings.HasPrefix(name, "kubeconnect_") || labels == "" {
			continue
		}
		for pair := range strings.SplitSeq(labels, ",") {
			label, value, _ := strings.Cut(pair, "=")
			if known := knownLabels[label]; known == nil || !known.MatchString(value) {
				t.Errorf("%s has label %s", name, pair)
			}
		}
	}
}

func (s scrape) wantNowhere(t *testing.T, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(s.Text, word) {
			t.Errorf("%q is in the metrics:\n%s", word, s.Text)
		}
	}
}

func (s scrape) wantCleanLint(t *testing.T) {
	t.Helper()
	if problems, err := promlint.New(strings.NewReader(s.Text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}

func TestMetrics_ReportALostAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()), kit.MetricsFlags...)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces"}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		fault harness.Fault
		stale float64
	}{{harness.None, 0}, {harness.Refused, 1}, {harness.None, 0}} {
		link.Set(step.fault)
		wantSeries(ctx, t, service, map[string]float64{
			"kubeconnect_cache_stale{resource=namespaces.v1}":  step.stale,
			"kubeconnect_cache_synced{resource=namespaces.v1}": 1,
		})
	}
}
