package monitoring

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/teststorage"
)

// between is the time between two scrapes.
const between = 15 * time.Second

// TestRelists_CountsListsExactly evaluates the alert at its limit: two lists within an hour are
// tolerated, independent of when they were made and of when the scrapes began.
func TestRelists_CountsListsExactly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scraped []float64 // the counter at each scrape
		fires   bool
	}{
		"two lists, a minute after the first scrape":       {scraped: []float64{0, 0, 1, 2, 2}},
		"two lists, ten minutes after the first scrape":    {scraped: append(make([]float64, 40), 1, 1, 2, 2)},
		"two lists, and a restart of the process":          {scraped: []float64{0, 1, 1, 0, 0, 1, 1}},
		"two lists, and a restart after them":              {scraped: []float64{0, 1, 2, 0, 0}},
		"three lists, a minute after the first scrape":     {scraped: []float64{0, 1, 2, 3}, fires: true},
		"three lists, ten minutes after the first scrape":  {scraped: append(make([]float64, 40), 1, 2, 3, 3), fires: true},
		"three lists, and a restart of the process":        {scraped: []float64{0, 1, 2, 0, 1, 1}, fires: true},
		"three lists, the last more than 15 minutes ago":   {scraped: slices.Concat([]float64{0, 1, 2, 3}, slices.Repeat([]float64{3}, 70))},
		"three lists, the first of them over an hour ago":  {scraped: slices.Concat([]float64{0, 1}, slices.Repeat([]float64{1}, 250), []float64{2, 3})},
		"three lists within less than an hour, one recent": {scraped: slices.Concat([]float64{0, 1, 2}, slices.Repeat([]float64{2}, 150), []float64{3}), fires: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if fires := fires(t, "KubeconnectRelists", "kubeconnect_cache_relists_total", test.scraped); fires != test.fires {
				t.Errorf("it fires: %v, want %v", fires, test.fires)
			}
		})
	}
}

// fires reports whether the expression of an alert selects a metric after the last of its scrapes.
func fires(t *testing.T, alert, metric string, scraped []float64) bool {
	t.Helper()
	storage, last := teststorage.New(t), time.Unix(0, 0)
	series := labels.FromStrings(model.MetricNameLabel, metric, "job", Job, "instance", "a", "resource", "pods.v1")
	appender := storage.Appender(t.Context())
	for _, value := range scraped {
		last = last.Add(between)
		if _, err := appender.Append(0, series, last.UnixMilli(), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	t.Cleanup(func() { _ = engine.Close() })
	query, err := engine.NewInstantQuery(t.Context(), storage, nil, expression(t, alert), last)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	selected, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	return len(selected) > 0
}

// expression returns the expression of an alert.
func expression(t *testing.T, alert string) string {
	t.Helper()
	alerts, err := Alerts()
	if err != nil {
		t.Fatal(err)
	}
	found := slices.IndexFunc(alerts, func(rule rulefmt.Rule) bool { return rule.Alert == alert })
	if found < 0 {
		t.Fatalf("there is no alert %s", alert)
	}
	return alerts[found].Expr
}
