package kit

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// MetricsFlags enable the metrics of a service, on a free port.
var MetricsFlags = []string{"--metrics-listen", "127.0.0.1:0"}

var metricsLine = regexp.MustCompile(`msg=metrics address=(\S+)`)

// Scrape is the metrics of a service at a time.
type Scrape struct {
	Text string
	// Series has the values by name and labels, such as "kubeconnect_streams{procedure=/a.B/Watch}".
	// The labels are sorted, and the value of a histogram is its count.
	Series map[string]float64
}

// MetricsURL returns the URL of the metrics of a service that was started with MetricsFlags.
func MetricsURL(ctx context.Context, t *testing.T, service *harness.Service) string {
	t.Helper()
	line, err := service.UntilPrints(ctx, metricsLine.MatchString)
	if err != nil {
		t.Fatal(err)
	}
	return metricsLine.FindStringSubmatch(line)[1]
}

// ScrapeOf returns the metrics of a service that was started with MetricsFlags.
func ScrapeOf(ctx context.Context, t *testing.T, service *harness.Service) Scrape {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, MetricsURL(ctx, t, service), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := harness.OneCallConnections(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %s with %q, %v", answer.Status, text, err)
	}
	return Scrape{string(text), seriesIn(t, text)}
}

func seriesIn(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	series := make(map[string]float64)
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			series[name+labelsOf(metric)] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return series
}

func labelsOf(metric *dto.Metric) string {
	var pairs []string
	for _, label := range metric.GetLabel() {
		pairs = append(pairs, label.GetName()+"="+label.GetValue())
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}
