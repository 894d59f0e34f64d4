package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/follow"
)

// permissionAPI responds to reviews of permissions, but blocks those of some users.
type permissionAPI struct {
	release chan struct{} // closed to respond to the blocked ones

	open, answered atomic.Int64
}

// ServeHTTP implements http.Handler.
func (p *permissionAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	decoded, _, _ := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := decoded.(*authorizationv1.SubjectAccessReview)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if strings.HasPrefix(review.Spec.User, "mallory") {
		p.open.Add(1)
		<-p.release
	} else {
		p.answered.Add(1)
	}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	review.Status.Allowed = true
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func (p *permissionAPI) authorizer(t *testing.T) *auth.Authorizer {
	t.Helper()
	api := httptest.NewServer(p)
	t.Cleanup(api.Close)
	return authorizerOf(t, &rest.Config{Host: api.URL}, auth.AuthorizerOptions{AllowedTTL: time.Millisecond})
}

// inMemory returns an authorizer without a network, for fake time.
func (p *permissionAPI) inMemory(t *testing.T) *auth.Authorizer {
	t.Helper()
	return authorizerOf(t, &rest.Config{Host: "http://api.example", Transport: p}, auth.AuthorizerOptions{})
}

// RoundTrip implements http.RoundTripper.
func (p *permissionAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	response := httptest.NewRecorder()
	p.ServeHTTP(response, r)
	return response.Result(), nil
}

func authorizerOf(t *testing.T, config *rest.Config, options auth.AuthorizerOptions) *auth.Authorizer {
	t.Helper()
	clients, err := auth.NewClientFactory(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return auth.NewAuthorizer(clients.ForService().Typed, options)
}

// TestAccessLease_IsRenewedWhileCallsTakeAllSlots has as many calls wait for reviews as can run at
// one time. The lease of an open stream is renewed nevertheless.
func TestAccessLease_IsRenewedWhileCallsTakeAllSlots(t *testing.T) {
	permissions := &permissionAPI{release: make(chan struct{})}
	var calls sync.WaitGroup
	s := newServiceOf(t, podsAPI(), Config{Authenticator: byName, Authorizer: permissions.authorizer(t), Recheck: 50 * time.Millisecond})
	clients := rawClientsOf(s)
	stream, err := clients.watchPods(t, "carol")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for caller := range 64 {
		calls.Go(func() {
			if err := clients.getPod(t, fmt.Sprint("mallory-", caller)); err != nil {
				t.Errorf("a call returned %v", err)
			}
		})
	}
	defer calls.Wait()
	defer close(permissions.release)
	until(t, "all turns are taken", func() bool { return permissions.open.Load() == 64 })
	before := permissions.answered.Load()
	until(t, "the stream is confirmed", func() bool { return permissions.answered.Load() >= before+4 })
}

// TestAccessLease_StreamsOfACallerShareReviews keeps the leases of 40 streams of each of three callers
// for ten minutes. A decision is cached for ten seconds, so that a permission would need up to 60
// reviews if each stream was renewed at a time of its own.
func TestAccessLease_StreamsOfACallerShareReviews(t *testing.T) {
	const callers, lasts = 3, 10 * time.Minute
	for name, streams := range map[string]int{"one stream each": 1, "40 streams each": 40} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				permissions := &permissionAPI{}
				leases := newLeases(newRights(permissions.inMemory(t)), 0)
				ctx, stop := context.WithTimeout(t.Context(), lasts)
				defer stop()
				var all sync.WaitGroup
				for i := range callers * streams {
					who := auth.Identity{Username: fmt.Sprint("caller-", i%callers)}
					caller := edge.Caller{Identity: who, Authenticator: &fakeRights{who: who}}
					all.Go(func() {
						time.Sleep(rand.N(20 * time.Second))
						lease, err := leases.grant(edge.WithCaller(ctx, caller), toWatch(informerhub.Resource{Version: "v1", Name: "nodes"}, "", "", ""))
						for ; err == nil; _, err = lease.keep(ctx, func() error { return nil }) {
							if left := time.Until(lease.due); left > defaultRecheck {
								t.Errorf("the lease is valid for %s", left)
							}
							period, cancel := lease.period(ctx)
							<-period.Done()
							cancel()
							if ctx.Err() != nil {
								return
							}
						}
						t.Error(err)
					})
				}
				all.Wait()
				reviews := float64(permissions.answered.Load()) / (2 * callers) / lasts.Minutes()
				if reviews < 3 || reviews > 4 {
					t.Errorf("%.1f reviews of a permission each minute", reviews)
				}
			})
		})
	}
}

// interruptedWatcher is a watcher of a stream whose permissions have changed.
type interruptedWatcher struct{ watcher }

func (interruptedWatcher) NextUntil(context.Context, <-chan struct{}) (informerhub.Batch, error) {
	return informerhub.Batch{}, informerhub.ErrInterrupted
}

// TestStreams_EndAtTheDeadlineAlsoWhenPermissionsChange lets the permissions change at the deadline of the client. What
// a stream of counts notices first is random.
func TestStreams_EndAtTheDeadlineAlsoWhenPermissionsChange(t *testing.T) {
	changed := make(chan struct{})
	close(changed)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	lease := &accessLease{changed: changed}
	events := &watch{lease: lease, watcher: interruptedWatcher{}}
	if err := new(eventSender).followPeriod(ctx, events); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("events end with %v", err)
	}
	live := &liveCounts{lease: lease, follower: &follow.Follower[counts.PlanKey, *counts.State]{}}
	for range 100 {
		if err := (&countsSender{sentAt: time.Now()}).followPeriod(ctx, live); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("counts end with %v", err)
		}
	}
}

// waitingWatcher is a watcher that waits for its turn all the time.
type waitingWatcher struct{ watcher }

func (waitingWatcher) NextUntil(ctx context.Context, _ <-chan struct{}) (informerhub.Batch, error) {
	<-ctx.Done()
	return informerhub.Batch{}, context.Cause(ctx)
}

// TestStreams_AreNotSilentWhileTheyWaitForTheirTurn lets a stream wait for a minute.
func TestStreams_AreNotSilentWhileTheyWaitForTheirTurn(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		last, contact := time.Now(), time.Now().Add(-time.Second)
		sent := 0
		s := &eventSender{delivered: &delivery{"10", "token"}, markedAt: last, lastContact: contact}
		s.outlet = func(_ context.Context, _ *accessLease, _ edge.Guard, response *kubeconnectv1.WatchResponse) error {
			if silence := time.Since(last); silence >= 10*time.Second {
				t.Errorf("silent for %v", silence)
			}
			if response.GetResumeToken() != "token" || !response.GetFreshness().GetLastContactTime().AsTime().Equal(contact) {
				t.Errorf("sent %v", response)
			}
			last, sent = time.Now(), sent+1
			return nil
		}
		err := s.followPeriod(ctx, &watch{lease: &accessLease{}, watcher: waitingWatcher{}, cache: &informerhub.Cache{}})
		if !errors.Is(err, context.DeadlineExceeded) || sent != 7 {
			t.Errorf("%d bookmarks, and ends with %v", sent, err)
		}
	})
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("condition not reached: %s", what)
			return
		}
	}
}
