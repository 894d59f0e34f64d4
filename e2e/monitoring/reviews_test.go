package monitoring

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"
)

const (
	// interval is the chart's interval of scrapes, and the usual one of evaluations. lag is the time
	// from a scrape to the next evaluation.
	interval = 30 * time.Second
	lag      = 29 * time.Second
)

// begins are the times at which a fault begins: just after a scrape, and 8 and 2 seconds before one.
var begins = []time.Duration{11*time.Minute + time.Second, 11*time.Minute + 22*time.Second, 11*time.Minute + 28*time.Second}

// replica is what the metrics of a replica show.
type replica struct {
	failing, unreachable, stale bool
	failed                      float64 // the share of the reviews that fail
}

var well = replica{}

// TestReviewsFail_WithinTwoMinutesUnlessTheAPIServerIsAway has faults whose metrics change with the
// seconds since they began.
func TestReviewsFail_WithinTwoMinutesUnlessTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	// shown is when the breaker shows the failure at the latest, after reviews have begun to fail: see
	// TestBreaker_ShowsWithinHalfAMinuteHoweverFewCallers in auth.
	const shown = 25
	for name, test := range map[string]struct {
		shows func(second float64) replica
		want  map[string]time.Duration // the alerts that fire, and the time until then at most
	}{
		"an authorizer fails": {
			shows: func(second float64) replica { return replica{failing: second >= shown, failed: 1} },
			want:  map[string]time.Duration{"KubeconnectReviewsFail": 2 * time.Minute},
		},
		"an authorizer still fails when the API server comes back": {
			shows: func(second float64) replica {
				return replica{failing: true, unreachable: second < 300, stale: second >= 3 && second < 300, failed: 1}
			},
			want: map[string]time.Duration{"KubeconnectUpstreamLost": 4 * time.Minute, "KubeconnectReviewsFail": 7 * time.Minute},
		},
		"one in ten reviews fails": {
			shows: func(float64) replica { return replica{failed: 0.1} },
			want:  map[string]time.Duration{"KubeconnectReviewsFail": 10 * time.Minute},
		},
		"one in ten reviews fails for three minutes": {
			shows: func(second float64) replica {
				if second < 180 {
					return replica{failed: 0.1}
				}
				return well
			},
		},
		"the API server refuses connections": {
			shows: func(second float64) replica {
				return replica{failing: true, unreachable: true, stale: second >= 3, failed: 1}
			},
			want: map[string]time.Duration{"KubeconnectUpstreamLost": 4 * time.Minute},
		},
		"the link is half-open": {
			shows: func(second float64) replica {
				return replica{failing: second >= 6, unreachable: second >= 6, stale: second >= 15, failed: 1}
			},
			want: map[string]time.Duration{"KubeconnectUpstreamLost": 4 * time.Minute},
		},
		"a proxy answers for an API server that is away": {
			shows: func(second float64) replica { return replica{failing: second >= shown, stale: second >= 3, failed: 1} },
			want:  map[string]time.Duration{"KubeconnectUpstreamLost": 4 * time.Minute},
		},
		"the API server restarts, and returns errors for some seconds": {
			shows: func(second float64) replica {
				if second < 60 {
					return replica{failing: second >= 1, unreachable: second < 30, stale: second >= 3 && second < 33, failed: 1}
				}
				return well
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, began := range begins {
				fired := firstFired(t, began, test.shows)
				for alert, after := range fired {
					if most, ok := test.want[alert]; !ok || after > most {
						t.Errorf("%s fires after %s, for a fault at %s", alert, after, began)
					}
				}
				for alert := range test.want {
					if _, ok := fired[alert]; !ok {
						t.Errorf("%s does not fire for a fault at %s", alert, began)
					}
				}
			}
		})
	}
}

// firstFired returns the alerts that fire within 25 minutes after a fault has begun, and the
// time until then. The recorded metrics that an alert uses are those of the previous evaluation, because
// the groups of the alerts are evaluated first.
func firstFired(t *testing.T, began time.Duration, shows func(second float64) replica) map[string]time.Duration {
	t.Helper()
	storage := teststorage.New(t)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	t.Cleanup(func() { _ = engine.Close() })
	groups, err := Groups(t.Context(), storage, engine, interval)
	if err != nil {
		t.Fatal(err)
	}
	fired, reviews, failures := map[string]time.Duration{}, 0.0, 0.0
	for at := time.Duration(0); at < began+25*time.Minute; at += interval {
		now := well
		if at >= began {
			now = shows((at - began).Seconds())
		}
		reviews += interval.Seconds()
		failures += now.failed * interval.Seconds()
		scrape(t, storage, at, now, reviews, failures)
		for _, alert := range evaluate(t, groups, at+lag) {
			if _, ok := fired[alert]; !ok {
				fired[alert] = at + lag - began
			}
		}
	}
	return fired
}

// scrape records the metrics of a replica.
func scrape(t *testing.T, storage *teststorage.TestStorage, at time.Duration, now replica, reviews, failures float64) {
	t.Helper()
	appender := storage.Appender(t.Context())
	add := func(value float64, metric string, names ...string) {
		series := labels.FromStrings(append(names, model.MetricNameLabel, metric, "job", Job, "instance", "a")...)
		if _, err := appender.Append(0, series, at.Milliseconds(), value); err != nil {
			t.Fatal(err)
		}
	}
	number := map[bool]float64{true: 1}
	add(1, "up")
	for _, resource := range []string{"pods.v1", "nodes.v1"} {
		add(number[now.stale], "kubeconnect_cache_stale", "resource", resource)
		add(0, "kubeconnect_cache_rejected", "resource", resource)
	}
	for _, review := range []string{"TokenReview", "SubjectAccessReview"} {
		add(reviews, "kubeconnect_auth_reviews_total", "review", review)
		add(failures, "kubeconnect_auth_review_failures_total", "review", review)
		add(0, "kubeconnect_auth_review_rejections_total", "review", review)
	}
	add(0, "kubeconnect_auth_reviews_failing", "review", "TokenReview")
	add(0, "kubeconnect_auth_reviews_unreachable", "review", "TokenReview")
	add(number[now.failing], "kubeconnect_auth_reviews_failing", "review", "SubjectAccessReview")
	add(number[now.failing && now.unreachable], "kubeconnect_auth_reviews_unreachable", "review", "SubjectAccessReview")
	add(100, "kubeconnect_streams", "procedure", "Watch")
	add(failures, "kubeconnect_calls_total", "procedure", "Watch", "code", "unavailable")
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

// evaluate evaluates the rules, and returns the alerts that fire.
func evaluate(t *testing.T, groups []*rules.Group, at time.Duration) (firing []string) {
	t.Helper()
	for _, group := range groups {
		group.Eval(t.Context(), time.UnixMilli(at.Milliseconds()))
		for _, rule := range group.AlertingRules() {
			if rule.LastError() != nil {
				t.Fatal(rule.LastError())
			}
			if rule.State() == rules.StateFiring {
				firing = append(firing, rule.Name())
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(firing)))
}
