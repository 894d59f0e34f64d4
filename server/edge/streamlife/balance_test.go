package streamlife

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
)

var (
	thePods    = informerhub.Resource{Version: "v1", Name: "pods"}
	theSecrets = informerhub.Resource{Version: "v1", Name: "secrets"}
)

// someCaches are the caches of a replica.
type someCaches []informerhub.Status

func (s someCaches) Status() []informerhub.Status { return s }

// replica is a replica whose clients resume their streams elsewhere.
type replica struct {
	*Balance
	t *testing.T
}

func newReplica(t *testing.T, caches ...informerhub.Status) replica {
	t.Helper()
	readiness := &health.Readiness{}
	readiness.Set(true)
	return replica{NewBalance(Balance{Streams: NewStreams(0), Readiness: readiness, Caches: someCaches(caches)}), t}
}

// open opens streams that follow a resource. Each stays open until it is ended.
func (r replica) open(count int, resource informerhub.Resource) {
	r.t.Helper()
	for range count {
		ctx, stream, end := r.Streams.Begin(r.t.Context(), 1)
		part := &StreamPart{Stream: stream}
		part.SetResource(resource)
		settled(r.t, part, true)
		context.AfterFunc(ctx, end)
	}
}

// balanced returns the number of streams that are left after balancing for a time with these peers.
func (r replica) balanced(lasts time.Duration, peers ...Load) int {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	r.Ask = func(context.Context) []Load { return append(peers, r.Load()) }
	go r.Run(ctx)
	time.Sleep(lasts)
	stop()
	synctest.Wait()
	return r.Streams.count()
}

func TestBalance_MovesStreamsBeyondItsShareGradually(t *testing.T) {
	for name, test := range map[string]struct {
		own   int
		peers []Load
		lasts time.Duration
		left  int
	}{
		"far more":                                     {300, []Load{{Replica: "a", Ready: true, Streams: 30}, {Replica: "b", Ready: true}}, time.Hour, 0},
		"more than its share":                          {110, []Load{{Replica: "a", Ready: true, Streams: 100}, {Replica: "b", Ready: true, Streams: 90}}, time.Hour, 110},
		"alone":                                        {300, nil, time.Hour, 300},
		"next to a replica that is not ready":          {300, []Load{{Replica: "a"}}, time.Hour, 300},
		"streams that are young":                       {300, []Load{{Replica: "a", Ready: true}}, minAge - time.Second, 300},
		"for a few seconds":                            {300, []Load{{Replica: "a", Ready: true}}, minAge + 3500*time.Millisecond, 300 - 4*minMoves},
		"more than can be moved in time":               {6000, []Load{{Replica: "a", Ready: true}}, minAge + 500*time.Millisecond, 5900},
		"next to a replica with an invalid load":       {300, []Load{{Replica: "a", Ready: true, Streams: -1 << 40}}, time.Hour, 300},
		"next to a replica that reports several times": {110, []Load{{Replica: "a", Ready: true, Streams: 100}, {Replica: "b", Ready: true, Streams: 100}, {Replica: "b", Ready: true}, {Replica: "b", Ready: true}, {Replica: "b", Ready: true}}, time.Hour, 110},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				r := newReplica(t)
				r.open(test.own, thePods)
				left := r.balanced(test.lasts, test.peers...)
				if name == "far more" { // it stops near the share of the remaining streams
					if left > 40 || left < 10 {
						t.Errorf("%d streams are left", left)
					}
					return
				}
				if left != test.left {
					t.Errorf("%d streams are left, want %d", left, test.left)
				}
			})
		})
	}
}

// TestBalance_StreamsThatCannotEndYetCount has clients that read their snapshots for minutes.
func TestBalance_StreamsThatCannotEndYetCount(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		r := newReplica(t)
		var parts []*StreamPart
		for range 100 {
			ctx, stream, end := r.Streams.Begin(t.Context(), 1)
			part := &StreamPart{Stream: stream}
			part.SetResource(thePods)
			parts = append(parts, part)
			context.AfterFunc(ctx, end)
		}
		r.balanced(minAge+time.Minute, Load{Replica: "a", Ready: true})
		for _, part := range parts {
			_ = part.Settle(true)
		}
		synctest.Wait()
		if left := r.Streams.count(); left != 100-minMoves {
			t.Errorf("%d streams are left, want %d", left, 100-minMoves)
		}
	})
}

// countedCaches are caches that count reads of their status.
type countedCaches struct{ reads int }

func (c *countedCaches) Status() []informerhub.Status {
	c.reads++
	return nil
}

func TestBalance_LoadIsComputedOnceASecond(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		r := newReplica(t)
		caches := &countedCaches{}
		r.Caches = caches
		for want := 1; want <= 3; want++ {
			for range 10 {
				answer := httptest.NewRecorder()
				r.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/load", http.NoBody))
				var load Load
				if err := json.Unmarshal(answer.Body.Bytes(), &load); err != nil || load.Replica != r.replica {
					t.Fatalf("returned %+v, %v", load, err)
				}
			}
			if caches.reads != want {
				t.Errorf("computed %d times in %d seconds", caches.reads, want)
			}
			time.Sleep(loadInterval)
		}
	})
}

// someReviews are the reviews of a replica.
type someReviews auth.ReviewStats

func (s someReviews) ReviewStats() auth.ReviewStats { return auth.ReviewStats(s) }

// TestBalance_MovesNothingWhileReviewsFailEverywhere has reviews that fail here, and a peer with no
// streams.
func TestBalance_MovesNothingWhileReviewsFailEverywhere(t *testing.T) {
	const kind = "SubjectAccessReview"
	pods := []string{thePods.String()}
	for name, test := range map[string]struct {
		peer Load
		left int
	}{
		"at the peer too":                      {Load{Replica: "a", Ready: true, ReviewsFail: true}, 40},
		"the peer's last decision was before":  {Load{Replica: "a", Ready: true, Fresh: pods, Decided: map[string]float64{kind: 3600}}, 40},
		"the peer has had no decision":         {Load{Replica: "a", Ready: true, Fresh: pods}, 40},
		"the peer has had another decision":    {Load{Replica: "a", Ready: true, Fresh: pods, Decided: map[string]float64{"TokenReview": 1}}, 40},
		"the peer has had a decision since":    {Load{Replica: "a", Ready: true, Fresh: pods, Decided: map[string]float64{kind: 1}}, 0},
		"the peer does not have the resource":  {Load{Replica: "a", Ready: true, Decided: map[string]float64{kind: 1}}, 40},
		"the peer has a decision, but not yet": {Load{Replica: "a", Ready: true, Fresh: pods, Decided: map[string]float64{kind: 90}}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				r := newReplica(t, informerhub.Status{Resource: thePods, Synced: true, Freshness: informerhub.Freshness{LastContact: time.Now()}})
				r.Reviews = health.Reviews{kind: someReviews{FailingSince: time.Now(), Problem: "away"}}
				r.open(40, thePods)
				if load := r.Load(); !load.ReviewsFail || len(load.Fresh) > 0 {
					t.Errorf("reports %+v", load)
				}
				if left := r.balanced(minAge+20*time.Second, test.peer); left != test.left {
					t.Errorf("%d streams are left, want %d", left, test.left)
				}
			})
		})
	}
}

func TestBalance_MovesStaleStreamsToFreshPeers(t *testing.T) {
	for name, test := range map[string]struct {
		peer Load
		left int
	}{
		"fresh at a peer":              {Load{Replica: "a", Ready: true, Streams: 40, Fresh: []string{theSecrets.String()}}, 20},
		"stale at the peer too":        {Load{Replica: "a", Ready: true, Streams: 40, Fresh: []string{thePods.String()}}, 40},
		"fresh at one that is away":    {Load{Replica: "a", Streams: 40, Fresh: []string{theSecrets.String()}}, 40},
		"what the peer does not cache": {Load{Replica: "a", Ready: true, Streams: 40}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				lost := informerhub.Status{Resource: theSecrets, Synced: true, Freshness: informerhub.Freshness{Stale: true, LastContact: time.Now()}}
				kept := informerhub.Status{Resource: thePods, Synced: true, Freshness: informerhub.Freshness{LastContact: time.Now()}}
				r := newReplica(t, lost, kept)
				r.open(20, thePods)
				r.open(20, theSecrets)
				if left := r.balanced(minStaleAge+20*time.Second, test.peer); left != test.left {
					t.Errorf("%d streams are left, want %d", left, test.left)
				}
			})
		})
	}
}
