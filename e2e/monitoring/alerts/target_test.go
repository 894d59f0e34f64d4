package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/monitoring"
)

// withMetrics enables the metrics of a service.
var withMetrics = []string{"--metrics-listen", "127.0.0.1:0"}

var metricsLine = regexp.MustCompile(`msg=metrics address=(\S+)`)

// target is a replica that is scraped. Its series are recorded as those of a pod.
type target struct {
	// Set once.
	instance string
	client   *http.Client

	address atomic.Pointer[string] // of the metrics; a restarted process has another one
	gone    atomic.Bool            // whether the pod was deleted

	shown map[string]labels.Labels // the series of the last scrape; owned by scrape
}

func newTarget(t *testing.T, instance string, service *harness.Service) *target {
	t.Helper()
	added := &target{instance: instance, client: harness.HTTP1(t)}
	added.restarted(t, service)
	return added
}

// restarted continues with another process in the same pod.
func (g *target) restarted(t *testing.T, service *harness.Service) {
	t.Helper()
	line, err := service.UntilPrints(kit.Deadline(t), metricsLine.MatchString)
	if err != nil {
		t.Fatal(err)
	}
	g.address.Store(&metricsLine.FindStringSubmatch(line)[1])
}

// scrape appends the current samples, with the metric up, and ends the series that have vanished,
// as Prometheus does.
func (g *target) scrape(ctx context.Context, appender storage.Appender, clock stretchedClock, now time.Time) error {
	samples, at := map[string]sample{}, clock.at(now).UnixMilli()
	if !g.gone.Load() {
		text, err := g.read(ctx)
		samples["up"] = sample{g.labelled(labels.FromStrings(model.MetricNameLabel, "up")), 1}
		if err != nil {
			samples["up"] = sample{samples["up"].labels, 0}
		} else if err := g.parse(text, clock, samples); err != nil {
			return err
		}
	}
	return g.append(appender, at, samples)
}

type sample struct {
	labels labels.Labels
	value  float64
}

func (g *target) append(appender storage.Appender, at int64, samples map[string]sample) (err error) {
	for key, series := range g.shown {
		if _, ok := samples[key]; !ok {
			_, appendErr := appender.Append(0, series, at, math.Float64frombits(value.StaleNaN))
			err = errors.Join(err, appendErr)
		}
	}
	g.shown = make(map[string]labels.Labels, len(samples))
	for key, sample := range samples {
		_, appendErr := appender.Append(0, sample.labels, at, sample.value)
		err = errors.Join(err, appendErr)
		g.shown[key] = sample.labels
	}
	return err
}

func (g *target) read(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, *g.address.Load(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := g.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	return io.ReadAll(answer.Body)
}

func (g *target) parse(text []byte, clock stretchedClock, samples map[string]sample) error {
	metrics := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := metrics.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the metrics of %s: %w", g.instance, err)
		case entry != textparse.EntrySeries:
			continue
		}
		series, _, number := metrics.Series()
		var found labels.Labels
		metrics.Labels(&found)
		samples[string(series)] = sample{g.labelled(found), clock.value(found.Get(model.MetricNameLabel), number)}
	}
}

// labelled adds the labels of the target.
func (g *target) labelled(series labels.Labels) labels.Labels {
	return labels.NewBuilder(series).
		Set("job", monitoring.Job).Set("instance", g.instance).Set("namespace", "kubeconnect").Labels()
}

// value returns the current value of one series, as it is written in the metrics; 0 if there is none.
func (g *target) value(ctx context.Context, t *testing.T, series string) float64 {
	t.Helper()
	text, err := g.read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]sample{}
	if err := g.parse(text, stretchedClock{}, samples); err != nil {
		t.Fatal(err)
	}
	return samples[series].value
}
