package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/monitoring"
)

// alertPatience bounds the time until an alert fires, and until it ends.
const alertPatience = time.Minute

// prometheus scrapes replicas of the service, and evaluates the rules after each scrape, with
// Prometheus' own storage, engine and rule manager, at a time that runs faster.
type prometheus struct {
	// Set once.
	clock   stretchedClock
	storage *teststorage.TestStorage
	engine  *promql.Engine
	groups  []*rules.Group

	mu      sync.Mutex // guards the fields below
	targets []*target
	rounds  int
	firing  []string
	fired   map[string]bool // the alerts that have fired since the start
	err     error           // the first failed evaluation
}

// startPrometheus starts to scrape. It ends with the test.
func startPrometheus(t *testing.T, targets ...*target) *prometheus {
	t.Helper()
	p := &prometheus{
		clock: stretchedClock{time.Now()}, storage: teststorage.New(t), targets: targets, fired: make(map[string]bool),
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 10_000_000, Timeout: harness.Patience(alertPatience), Parser: parser.NewParser(parser.Options{}), EnableAtModifier: true,
		}),
	}
	t.Cleanup(func() { _ = p.engine.Close() })
	groups, err := monitoring.Groups(t.Context(), p.storage, p.engine, scrapeInterval*stretch)
	if err != nil {
		t.Fatal(err)
	}
	p.groups = groups
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var scraping sync.WaitGroup
	scraping.Go(func() { p.run(ctx) })
	t.Cleanup(func() { cancel(); scraping.Wait() })
	return p
}

func (p *prometheus) run(ctx context.Context) {
	ticks := time.NewTicker(scrapeInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			p.round(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// round scrapes each target once, and evaluates the rules.
func (p *prometheus) round(ctx context.Context) {
	p.mu.Lock()
	targets := slices.Clone(p.targets)
	p.mu.Unlock()
	now, appender := time.Now(), p.storage.Appender(ctx)
	var err error
	for _, target := range targets {
		err = errors.Join(err, target.scrape(ctx, appender, p.clock, now))
	}
	err = errors.Join(err, appender.Commit())
	for _, group := range p.groups {
		group.Eval(ctx, p.clock.at(now))
	}
	p.note(ctx, err)
}

// note records which alerts are firing.
func (p *prometheus) note(ctx context.Context, err error) {
	var firing []string
	for _, group := range p.groups {
		for _, rule := range group.Rules() {
			err = errors.Join(err, rule.LastError())
		}
		for _, rule := range group.AlertingRules() {
			if rule.State() == rules.StateFiring {
				firing = append(firing, rule.Name())
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	p.rounds++
	p.firing = firing
	for _, name := range firing {
		p.fired[name] = true
	}
	if p.err == nil && err != nil {
		p.err = err
		slog.Error("cannot record or evaluate", "error", err)
	}
}

// add adds a replica, and remove removes one, as when a pod is created and deleted.
func (p *prometheus) add(added *target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets = append(p.targets, added)
}

func (p *prometheus) remove(removed *target) {
	removed.gone.Store(true)
}

// untilFiring blocks until exactly these alerts are firing.
func (p *prometheus) untilFiring(t *testing.T, want ...string) {
	t.Helper()
	kit.Eventually(kit.DeadlineAfter(t, alertPatience), t, fmt.Sprintf("the firing alerts are %q", want), func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !slices.Equal(p.firing, want) {
			return fmt.Errorf("firing: %q", p.firing)
		}
		return nil
	})
}

// untilRecorded blocks until a time of the recording has passed.
func (p *prometheus) untilRecorded(t *testing.T, lasts time.Duration) {
	t.Helper()
	until := time.Now().Add(lasts / stretch)
	kit.Eventually(kit.DeadlineAfter(t, alertPatience), t, "the time is recorded", func() error {
		if time.Now().Before(until) {
			return errors.New("not yet")
		}
		return nil
	})
}

// wantFired fails the test unless exactly these alerts have fired since the start, and all rules
// could be evaluated.
func (p *prometheus) wantFired(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := slices.Sorted(maps.Keys(p.fired)); !slices.Equal(got, want) || p.err != nil {
		t.Errorf("alerts that have fired: %q, want %q (%d scrapes, %v)", got, want, p.rounds, p.err)
	}
}

// longestRange is longer than the ranges of the rules for failed calls and reviews, and than the time
// for which these alerts are pending.
const longestRange = 12 * time.Minute

// untilScraped blocks until each target has been scraped again.
func (p *prometheus) untilScraped(t *testing.T) {
	t.Helper()
	before := p.scrapes()
	kit.Eventually(kit.DeadlineAfter(t, alertPatience), t, "the replicas are scraped", func() error {
		if now := p.scrapes(); now < before+2 { // one may have begun before
			return fmt.Errorf("%d scrapes", now-before)
		}
		return nil
	})
}

func (p *prometheus) scrapes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rounds
}
