package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// failures are the ways in which an API server gives no decision.
var failures = map[string]func(*fakeAPI){
	"no connection is made":           func(api *fakeAPI) { api.takes, api.fails = time.Hour, errors.New("connection refused") },
	"it cannot be reached":            func(api *fakeAPI) { api.fails = errors.New("connection refused") },
	"it returns 500":                  func(api *fakeAPI) { api.fails = apierrors.NewInternalError(errors.New("no")) },
	"it does not know the service":    func(api *fakeAPI) { api.fails = apierrors.NewUnauthorized("no") },
	"it asks to be called later":      func(api *fakeAPI) { api.fails = apierrors.NewTooManyRequests("later", 1) },
	"it does not respond":             func(api *fakeAPI) { api.takes = time.Hour },
	"it responds after a second, 500": func(api *fakeAPI) { api.takes, api.fails = time.Second, apierrors.NewInternalError(errors.New("no")) },
}

// untilTheEnd returns a context that is done, and goroutines that are awaited, at the end of a test.
func untilTheEnd(t *testing.T) (context.Context, *sync.WaitGroup) {
	ctx, stop := context.WithCancel(t.Context())
	running := new(sync.WaitGroup)
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return ctx, running
}

// openStreams renews some permissions of each of n callers as open streams do, until the context is done:
// an attempt lasts 3 s at most, and a second passes to the next attempt. It returns the number of
// permissions whose last attempt has succeeded.
func openStreams(ctx context.Context, a *Authorizer, n, permissions int, running *sync.WaitGroup) (renewed func() int) {
	var mu sync.Mutex
	valid := map[int]bool{}
	for i := range n * permissions {
		attributes := in("a")
		attributes.Name = fmt.Sprint(i % permissions)
		running.Go(func() {
			for ctx.Err() == nil {
				attempt, cancel := context.WithTimeout(WithRecheck(ctx), 3*time.Second)
				decision, err := a.Authorize(attempt, Identity{Username: fmt.Sprint("stream-", i/permissions)}, attributes)
				cancel()
				mu.Lock()
				valid[i] = err == nil && decision.Allowed
				mu.Unlock()
				time.Sleep(time.Second)
			}
		})
	}
	return func() (count int) {
		mu.Lock()
		defer mu.Unlock()
		for _, ok := range valid {
			if ok {
				count++
			}
		}
		return count
	}
}

// TestBreaker_BoundsTheReviewsOfAFailingAPIServer has 200 callers with open streams and 20 new calls
// each second, while the API server fails for a minute and a half.
func TestBreaker_BoundsTheReviewsOfAFailingAPIServer(t *testing.T) {
	const streams = 200
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			api := allowing("a")
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				ctx, running := untilTheEnd(t)
				renewed := openStreams(ctx, a, streams, 1, running)
				running.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						running.Go(func() { _, _ = a.Authorize(ctx, Identity{Username: fmt.Sprint("call-", i)}, in("a")) })
						time.Sleep(50 * time.Millisecond)
					}
				})
				time.Sleep(10 * time.Second)
				if count := renewed(); count != streams {
					t.Fatalf("%d streams are renewed", count)
				}
				api.set(func() { fail(api) })
				time.Sleep(30 * time.Second) // those that were sent before the breaker blocks reviews have ended
				before := api.asked()
				time.Sleep(time.Minute)
				if reviews, most := api.asked()-before, int(time.Minute/maxProbePause); reviews > most || reviews < 3 {
					t.Errorf("%d reviews in a minute, want 3 to %d", reviews, most)
				}
				if count := renewed(); count != 0 {
					t.Errorf("%d streams are renewed while the API server fails", count)
				}
				unreachable := name == "it cannot be reached" || name == "no connection is made"
				if stats := a.ReviewStats(); time.Since(stats.FailingSince) < time.Minute || stats.Problem == "" || stats.Unreachable != unreachable {
					t.Errorf("reports %+v", stats)
				}
				began := time.Now()
				_, err := a.Authorize(ctx, Identity{Username: "new"}, in("a"))
				if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsServiceUnavailable(err) || !ok || seconds < 1 || time.Since(began) > lookupTimeout {
					t.Errorf("a new call gets %v after %s", err, time.Since(began))
				}

				api.set(func() { api.fails, api.takes = nil, 0 })
				wantRecovery(t, api, renewed, streams)
				if stats := a.ReviewStats(); !stats.FailingSince.IsZero() || stats.Unreachable {
					t.Errorf("reports %+v", stats)
				}
			})
		})
	}
}

// TestBreaker_ShowsWithinHalfAMinuteHoweverFewCallers has a single caller with an open stream. Its last
// decision counts for 10 seconds, and each review may take as long to fail.
func TestBreaker_ShowsWithinHalfAMinuteHoweverFewCallers(t *testing.T) {
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			api := allowing("a")
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				ctx, running := untilTheEnd(t)
				openStreams(ctx, a, 1, 1, running)
				time.Sleep(time.Second)
				api.set(func() { fail(api) })
				time.Sleep(35 * time.Second)
				if a.ReviewStats().FailingSince.IsZero() {
					t.Errorf("%d reviews have failed, and no failure is shown", a.ReviewStats().Failed)
				}
			})
		})
	}
}

// TestBreaker_ShowsNothingWhenNobodyAsks has reviews fail for callers that leave: no review follows that
// could show that the API server gives decisions again.
func TestBreaker_ShowsNothingWhenNobodyAsks(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		b := newBreaker("review")
		for range tripAfter {
			b.done(nil, errors.New("no decision"), "caller")
		}
		for range 2 {
			time.Sleep(shownFor - time.Second)
			if stats := b.addTo(ReviewStats{}); stats.FailingSince.IsZero() || !stats.Unreachable {
				t.Errorf("shows %+v", stats)
			}
			probe, _ := b.pass(t.Context(), "caller", true)
			b.done(probe, errors.New("no decision"), "caller")
		}
		time.Sleep(shownFor)
		if stats := b.addTo(ReviewStats{}); !stats.FailingSince.IsZero() || stats.Problem != "" || stats.Unreachable {
			t.Errorf("shows %+v after a minute without a review", stats)
		}
	})
}

// TestAuthorizer_AnAuthorizerThatFailsDecidesNothing has a webhook that fails for all callers but one, who
// is not delayed by that.
func TestAuthorizer_AnAuthorizerThatFailsDecidesNothing(t *testing.T) {
	for name, denied := range map[string]bool{"without an opinion": false, "with a denial": true} {
		t.Run(name, func(t *testing.T) {
			api := allowing("a")
			may := api.may
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				ctx, running := untilTheEnd(t)
				renewed := openStreams(ctx, a, 10, 1, running)
				time.Sleep(time.Second)
				api.set(func() {
					api.may = func(spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
						if spec.User == carol.Username {
							return may(spec)
						}
						return authorizationv1.SubjectAccessReviewStatus{Denied: denied, EvaluationError: "the webhook is down"}
					}
				})
				time.Sleep(30 * time.Second)
				if stats := a.ReviewStats(); renewed() > 0 || stats.FailingSince.IsZero() || stats.Unreachable || stats.Failed == 0 {
					t.Errorf("%d streams are renewed, and it reports %+v", renewed(), stats)
				}
				if _, err := a.Authorize(ctx, Identity{Username: "new"}, in("a")); !apierrors.IsServiceUnavailable(err) {
					t.Errorf("a new call gets %v", err)
				}
				began := time.Now()
				if decision, err := a.Authorize(ctx, carol, in("a")); !decision.Allowed || !time.Now().Equal(began) {
					t.Errorf("the other caller gets %+v and %v after %s", decision, err, time.Since(began))
				}
				api.set(func() { api.may = may })
				time.Sleep(5 * time.Second)
				if stats := a.ReviewStats(); renewed() != 10 || !stats.FailingSince.IsZero() {
					t.Errorf("%d streams are renewed, and it reports %+v", renewed(), stats)
				}
			})
		})
	}
}

// TestBreaker_CallersWithoutADecisionBlockNoOther has a webhook that does not respond for some callers,
// whose streams ask about 6 permissions each. Another caller is decided about at once: its new calls and its
// stream are reviewed again every 10 seconds.
func TestBreaker_CallersWithoutADecisionBlockNoOther(t *testing.T) {
	for name, test := range map[string]struct {
		callers int
		atOnce  bool // the other caller is served from the beginning, and otherwise after half a minute
	}{
		"one caller":   {1, true},
		"two callers":  {2, true},
		"many callers": {20, false},
	} {
		t.Run(name, func(t *testing.T) {
			api := allowing("a")
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				ctx, running := untilTheEnd(t)
				renewed := openStreams(ctx, a, test.callers, 6, running)
				time.Sleep(time.Second)
				api.set(func() { api.hangs = "stream-" })
				wantServed := func(seconds int, strict bool) {
					for second := range seconds {
						for kind, ctx := range map[string]context.Context{"call": ctx, "stream": WithRecheck(ctx)} {
							ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
							decision, err := a.Authorize(ctx, carol, in("a"))
							cancel()
							if strict && (err != nil || !decision.Allowed) {
								t.Fatalf("after %d s a %s of another caller gets %+v, %v", second, kind, decision, err)
							}
						}
						time.Sleep(time.Second)
					}
				}
				wantServed(30, test.atOnce)
				before := api.askedAbout("stream-")
				wantServed(120, true)
				minimum, maximum := 4*test.callers, 12*test.callers
				if reviews := api.askedAbout("stream-") - before; reviews < minimum || reviews > maximum {
					t.Errorf("%d reviews in two minutes, want %d to %d", reviews, minimum, maximum)
				}
				if count := renewed(); count != 0 {
					t.Errorf("%d permissions are renewed without a decision", count)
				}
				api.set(func() { api.hangs = "" })
				wantServed(int((lookupTimeout + 2*maxProbePause).Seconds()), true)
				if count := renewed(); count != 6*test.callers {
					t.Errorf("%d permissions are renewed after that", count)
				}
			})
		})
	}
}

// wantRecovery fails unless all streams are renewed soon, at the rate of a recovery.
func wantRecovery(t *testing.T, api *fakeAPI, renewed func() int, streams int) {
	t.Helper()
	began := time.Now()
	for before := api.asked(); renewed() < streams; before = api.asked() {
		if time.Since(began) > lookupTimeout+2*maxProbePause+time.Duration(streams)*time.Second/recoveryRate {
			t.Fatalf("%d streams are renewed after %s", renewed(), time.Since(began))
		}
		time.Sleep(time.Second)
		most := recoveryRate<<int(time.Since(began)/recoveryStep) + recoveryBurst
		if reviews := api.asked() - before; reviews > most {
			t.Errorf("%d reviews in a second, want %d at most", reviews, most)
		}
	}
}

// TestBreaker_RefusesNewCallsAtOnce calls while a probe is under way, and while none is due.
func TestBreaker_RefusesNewCallsAtOnce(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		api.set(func() { api.fails = apierrors.NewInternalError(errors.New("token-0 is not for you")) })
		for i := range tripAfter {
			if _, err := cluster.Authenticate(t.Context(), bearer(fmt.Sprint("token-", i))); !apierrors.IsServiceUnavailable(err) {
				t.Fatal(err)
			}
		}
		asked, began := api.asked(), time.Now()
		_, err := cluster.Authenticate(t.Context(), bearer("token-0"))
		if _, ok := apierrors.SuggestsClientDelay(err); !ok || api.asked() != asked || !time.Now().Equal(began) {
			t.Errorf("got %v after %s and %d reviews", err, time.Since(began), api.asked()-asked)
		}
	})
}

// TestBreaker_OneCallersFailuresConcernOnlyItself has reviews of one caller fail between those of others.
func TestBreaker_OneCallersFailuresConcernOnlyItself(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		b := newBreaker("review")
		for i := range 10 * tripAfter {
			err := errors.New("no decision")
			if i%tripAfter == 0 {
				err = nil
			}
			b.done(nil, err, "caller")
			if b.refuse("caller") != nil {
				t.Fatalf("open after %d reviews", i)
			}
		}
	})
}

// TestBreaker_TimeoutsOfSeveralCallersConcernAll has reviews of callers time out, of which one has timed out
// already when another caller got a decision.
func TestBreaker_TimeoutsOfSeveralCallersConcernAll(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		b := newBreaker("review")
		timeOut := func(caller string) {
			for range tripAfter {
				b.done(nil, fmt.Errorf("%w: %w", errUndecided, context.DeadlineExceeded), caller)
			}
		}
		timeOut("0")
		b.done(nil, nil, "other")
		for i := range tripCallers + 1 {
			if b.refuse("other") != nil {
				t.Fatalf("another caller is blocked by %d", i)
			}
			timeOut(fmt.Sprint(i))
			if b.refuse(fmt.Sprint(i)) == nil {
				t.Errorf("caller %d is not blocked", i)
			}
		}
		if b.refuse("other") == nil {
			t.Error("another caller is not blocked")
		}
		time.Sleep(probeYield - time.Millisecond)
		if b.refuse("0") == nil || b.refuse("other") != nil {
			t.Error("a caller whose reviews time out is the first to probe")
		}
		time.Sleep(2 * shownFor)
		timeOut("last")
		if len(b.callers) != 1 {
			t.Errorf("%d callers are kept", len(b.callers))
		}
	})
}

// TestBreaker_ProbeWithoutAnOutcomeIsFollowedByAnother cancels a probe.
func TestBreaker_ProbeWithoutAnOutcomeIsFollowedByAnother(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		b := newBreaker("review")
		for range tripAfter {
			b.done(nil, errors.New("no decision"), "caller")
		}
		for range 2 {
			must(t, b.await(t.Context(), "caller"))
			probe, err := b.pass(t.Context(), "caller", true)
			if probe == nil || err != nil {
				t.Fatal(probe, err)
			}
			b.done(probe, context.Canceled, "caller")
		}
		probe, _ := b.pass(t.Context(), "caller", true)
		b.done(probe, nil, "caller")
		if probe, err := b.pass(t.Context(), "caller", false); probe != nil || err != nil {
			t.Errorf("after a decision: %v, %v", probe, err)
		}
	})
}

// TestReviews_DistinguishAnUnreachableAPIServer sends reviews over real connections.
func TestReviews_DistinguishAnUnreachableAPIServer(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second // a silent connection is closed before, as in the service
	for name, test := range map[string]struct {
		connected   bool // a review was answered before the fault
		fault       harness.Fault
		hangs       bool // the API server does not answer; otherwise it returns 500
		unreachable bool
	}{
		"the authorizer fails":                      {},
		"the authorizer hangs":                      {hangs: true},
		"the authorizer hangs after a review":       {hangs: true, connected: true},
		"the port is closed":                        {fault: harness.Refused, unreachable: true},
		"the port is closed after a review":         {fault: harness.Refused, unreachable: true, connected: true},
		"the link is half-open":                     {fault: harness.Frozen, unreachable: true},
		"the link becomes half-open after a review": {fault: harness.Frozen, unreachable: true, connected: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hangs atomic.Bool
			api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if hangs.Load() {
					<-r.Context().Done()
				}
				http.Error(w, "no", http.StatusInternalServerError)
			}))
			api.EnableHTTP2 = true
			api.StartTLS()
			t.Cleanup(api.Close)
			link := harness.StartProxy(t, api.Listener.Addr().String(), harness.None)
			factory, err := NewClientFactory(&rest.Config{Host: "https://" + link.Address(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, nil)
			must(t, err)
			send := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				review := &authorizationv1.SubjectAccessReview{}
				return sendReview(ctx, factory.ForService().Typed.AuthorizationV1().RESTClient(), "subjectaccessreviews", review, review)
			}
			if test.connected {
				if err := send(); !apierrors.IsInternalError(err) {
					t.Fatal(err)
				}
			}
			hangs.Store(test.hangs)
			link.Set(test.fault)
			err = send()
			if problem, unreachable := problemOf(err); err == nil || unreachable != test.unreachable {
				t.Errorf("%q, unreachable: %t (%v)", problem, unreachable, err)
			}
		})
	}
}
