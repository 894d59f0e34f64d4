package auth

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// asking starts n concurrent calls, each with a question of its own, and returns when those that
// can be reviewed are. wait returns the outcomes of all of them.
func asking(ctx context.Context, a *Authorizer, name string, questions int) (wait func() answers) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var ended answers
	for i := range questions {
		all.Go(func() {
			_, err := a.Authorize(ctx, Identity{Username: name}, in(fmt.Sprint(name, i)))
			mu.Lock()
			defer mu.Unlock()
			*ended.of(err)++
		})
	}
	synctest.Wait()
	return func() answers { all.Wait(); return ended }
}

// withSlowAuthorizer runs a test with an API server that takes a second for each response. No
// review and no slot must be left.
func withSlowAuthorizer(t *testing.T, test func(*testing.T, *fakeAPI, *Authorizer)) {
	t.Helper()
	api := allowing("a")
	api.takes = time.Second
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		test(t, api, a)
		a.reviews.lookups.running.Wait()
		turns := a.reviews.lookups.slots
		if left := len(a.reviews.lookups.flights); left != 0 || turns.questions.Held() != 0 || turns.rechecks.Held() != 0 {
			t.Errorf("%d reviews are left, and %d and %d slots", left, turns.questions.Held(), turns.rechecks.Held())
		}
	})
}

// wantAnswerAfter fails unless a caller's question is answered after exactly that time.
func wantAnswerAfter(ctx context.Context, t *testing.T, a *Authorizer, name string, after time.Duration) {
	t.Helper()
	began := time.Now()
	decision, err := a.Authorize(ctx, Identity{Username: name}, in("a"))
	if took := time.Since(began); err != nil || !decision.Allowed || took != after {
		t.Errorf("%s got %+v, %v after %s, want %s", name, decision, err, took, after)
	}
}

// TestAuthorizer_OneCallerDoesNotDelayOthers has a caller ask ten times as many questions as there
// are slots.
func TestAuthorizer_OneCallerDoesNotDelayOthers(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, api *fakeAPI, a *Authorizer) {
		wait := asking(t.Context(), a, "mallory", 10*maxLookups)
		wantAnswerAfter(t.Context(), t, a, "carol", time.Second)
		if got := wait(); got.accepted+got.throttled != 10*maxLookups || api.most != maxLookupsOfCaller+1 {
			t.Errorf("the others got %+v, with %d reviews at one time", got, api.most)
		}
	})
}

func TestAuthorizer_BoundsConcurrentReviews(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, api *fakeAPI, a *Authorizer) {
		var waits []func() answers
		for caller := range 10 {
			waits = append(waits, asking(t.Context(), a, fmt.Sprint("mallory-", caller), maxLookupsOfCaller))
		}
		wantAnswerAfter(t.Context(), t, a, "carol", 2*time.Second)
		for _, wait := range waits {
			if got := wait(); got.accepted != maxLookupsOfCaller {
				t.Errorf("they got %+v", got)
			}
		}
		if api.most != maxLookups {
			t.Errorf("%d concurrent reviews", api.most)
		}
	})
}

// TestAuthorizer_BoundsWaitingReviewsOfACaller has one caller ask more than its queue holds. The
// rest is rejected at once, with a retry delay.
func TestAuthorizer_BoundsWaitingReviewsOfACaller(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, _ *fakeAPI, a *Authorizer) {
		wait := asking(t.Context(), a, "mallory", maxLookupsOfCaller+maxQuestionsWaiting)
		began := time.Now()
		_, err := a.Authorize(t.Context(), Identity{Username: "mallory"}, in("one more"))
		if !apierrors.IsTooManyRequests(err) || time.Since(began) != 0 {
			t.Errorf("one more got %v after %s", err, time.Since(began))
		}
		wait()
	})
}

// TestAuthorizer_StreamsDoNotWaitForCalls authorizes as an open stream does, while calls
// occupy all slots, including calls of the stream's own caller.
func TestAuthorizer_StreamsDoNotWaitForCalls(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, _ *fakeAPI, a *Authorizer) {
		var waits []func() answers
		for _, name := range []string{"carol", "mallory", "mary", "max", "mo"} {
			waits = append(waits, asking(t.Context(), a, name, 100))
		}
		wantAnswerAfter(WithRecheck(t.Context()), t, a, "carol", time.Second)
		for _, wait := range waits {
			wait()
		}
	})
}

// TestAuthorizer_StreamsWaitForSlotsWithoutATimeout has more questions of open streams than get a
// slot within a question's patience.
func TestAuthorizer_StreamsWaitForSlotsWithoutATimeout(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, api *fakeAPI, a *Authorizer) {
		api.set(func() { api.takes = 9 * time.Second })
		if got := asking(WithRecheck(t.Context()), a, "carol", 2*maxLookupsOfCaller)(); got.accepted != 2*maxLookupsOfCaller {
			t.Errorf("they got %+v", got)
		}
	})
}

// TestAuthorizer_LookupTimeoutBeginsWithTheSlot has reviews that wait for a slot, and then take
// nearly the maximum time.
func TestAuthorizer_LookupTimeoutBeginsWithTheSlot(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, api *fakeAPI, a *Authorizer) {
		api.set(func() { api.takes = slotPatience - time.Second })
		first := asking(t.Context(), a, "carol", maxLookupsOfCaller)
		api.set(func() { api.takes = lookupTimeout - time.Second })
		if got := asking(t.Context(), a, "carol", 2*maxLookupsOfCaller)(); got.accepted != maxLookupsOfCaller+maxLookupsOfCaller {
			t.Errorf("they got %+v", got)
		}
		first()
	})
}

// TestAuthorizer_TimedOutWaitersGetARetryTime uses an API server that is so slow that the
// first questions occupy their slots for longer than the others wait.
func TestAuthorizer_TimedOutWaitersGetARetryTime(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, api *fakeAPI, a *Authorizer) {
		api.set(func() { api.takes = lookupTimeout - time.Second })
		got, want := asking(t.Context(), a, "carol", 2*maxLookupsOfCaller)(), answers{accepted: maxLookupsOfCaller, throttled: maxLookupsOfCaller}
		if got != want {
			t.Errorf("they got %+v, want %+v", got, want)
		}
	})
}

// TestAuthorizer_DoesNotSendCancelledReviews has callers leave while they wait.
func TestAuthorizer_DoesNotSendCancelledReviews(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, api *fakeAPI, a *Authorizer) {
		ctx, leave := context.WithCancel(t.Context())
		gone := asking(ctx, a, "carol", 10*maxLookupsOfCaller)
		leave()
		if got := gone(); got.other != 10*maxLookupsOfCaller {
			t.Errorf("callers that left got %+v", got)
		}
		wantAnswerAfter(t.Context(), t, a, "carol", 2*time.Second) // only behind the reviews in progress
		if asked := api.asked(); asked != maxLookupsOfCaller+1 {
			t.Errorf("%d reviews", asked)
		}
		wantReviews(t, a.ReviewStats(), ReviewStats{Requested: maxLookupsOfCaller + 1, Waited: time.Second, Took: (maxLookupsOfCaller + 1) * time.Second})
	})
}

// TestAuthorizer_SharedReviewContinuesWhenOneCallerLeaves has one of two callers leave before their
// question gets a slot.
func TestAuthorizer_SharedReviewContinuesWhenOneCallerLeaves(t *testing.T) {
	withSlowAuthorizer(t, func(t *testing.T, _ *fakeAPI, a *Authorizer) {
		wait := asking(t.Context(), a, "carol", maxLookupsOfCaller)
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = a.Authorize(ctx, Identity{Username: "carol"}, in("a")) }()
		var stays sync.WaitGroup
		stays.Go(func() { wantAnswerAfter(t.Context(), t, a, "carol", 2*time.Second) })
		synctest.Wait()
		leave()
		stays.Wait()
		wait()
	})
}

// TestClusterAuthenticator_TokensOfOneUserDoNotDelayOthers has one user renew many tokens at one
// time.
func TestClusterAuthenticator_TokensOfOneUserDoNotDelayOthers(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		as := func(name string) { api.set(func() { api.user.User.Username = name }) }
		as("mallory")
		flood(t, cluster, 100, "mallorys-", func(int) context.Context { return calledFrom(t, 1) })()
		as("carol")
		_, _ = cluster.Authenticate(t.Context(), bearer("carols"))
		time.Sleep(acceptedTTL + time.Second)
		api.set(func() { api.takes = time.Second })
		wait := flood(t, cluster, 100, "mallorys-", func(int) context.Context { return calledFrom(t, 1) })
		wantServed(t.Context(), t, api, cluster, "carols")
		wait()
	})
}
