package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// invalidPrefix is the prefix of invalid tokens.
const invalidPrefix = "invalid-"

// calledFrom returns the context of a call from an address of the i-th peer.
func calledFrom(t *testing.T, i int) context.Context {
	address := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
	return contextWithPeer(t.Context(), peer{address: netip.AddrPortFrom(address, 1).String()})
}

// underFlood runs a test with an authenticator and a slow API server. No review must be left.
func underFlood(t *testing.T, takes time.Duration, test func(*testing.T, *fakeAPI, *ClusterAuthenticator)) {
	t.Helper()
	api := accepting()
	api.refuses = invalidPrefix
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		api.set(func() { api.takes, api.most = takes, 0 })
		test(t, api, cluster)
		time.Sleep(unknownTokenTimeout + lookupTimeout + rejectionPenalty) // the longest time that a review can stay
		synctest.Wait()
		n := cluster.tokens.unknownTokens
		if n.waiting != 0 || len(n.peers) != 0 || len(n.slots) != 0 {
			t.Errorf("%d reviews are left, of %d peers, with %d slots", n.waiting, len(n.peers), len(n.slots))
		}
	})
}

// answers counts the calls of a flood by their outcome.
type answers struct{ accepted, rejected, throttled, unavailable, other int }

// flood starts n concurrent calls, each with a token of its own, and returns when those that can be
// rejected or started are. wait returns the outcomes of all of them.
func flood(t *testing.T, cluster *ClusterAuthenticator, calls int, prefix string, from func(i int) context.Context) (wait func() answers) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var ended answers
	for i := range calls {
		all.Go(func() {
			_, err := cluster.Authenticate(from(i), bearer(fmt.Sprint(prefix, i)))
			mu.Lock()
			defer mu.Unlock()
			*ended.of(err)++
		})
	}
	synctest.Wait()
	return func() answers { all.Wait(); return ended }
}

func (a *answers) of(err error) *int {
	wait, suggested := apierrors.SuggestsClientDelay(err)
	switch {
	case err == nil:
		return &a.accepted
	case errors.Is(err, ErrUnauthenticated):
		return &a.rejected
	case apierrors.IsTooManyRequests(err) && suggested && 1 <= wait && wait <= maxRetryAfter:
		return &a.throttled
	case apierrors.IsServiceUnavailable(err):
		return &a.unavailable
	}
	return &a.other
}

// wantServed fails unless a caller is served at once: within the time of one review.
func wantServed(ctx context.Context, t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator, token string) {
	t.Helper()
	began := time.Now()
	if _, err := cluster.Authenticate(ctx, bearer(token)); err != nil || time.Since(began) != api.takes {
		t.Errorf("the caller with token %q got %v after %s", token, err, time.Since(began))
	}
}

func TestLookupQueue_FloodFromOnePeerDoesNotDelayOthers(t *testing.T) {
	underFlood(t, 50*time.Millisecond, func(t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator) {
		here, elsewhere := calledFrom(t, 1), calledFrom(t, 2)
		wantServed(here, t, api, cluster, "known")
		time.Sleep(acceptedTTL + time.Second)
		wait := flood(t, cluster, 2000, invalidPrefix, func(int) context.Context { return here })
		wantServed(elsewhere, t, api, cluster, "new")
		wantServed(here, t, api, cluster, "known") // although it shares the address
		if got, want := wait(), (answers{rejected: maxWaitingOfPeer, throttled: 2000 - maxWaitingOfPeer}); got != want {
			t.Errorf("the flood got %+v, want %+v", got, want)
		}
		if api.most > maxLookupsOfPeer+1 {
			t.Errorf("%d concurrent reviews", api.most)
		}
		if is := cluster.ReviewStats(); is.Rejected != 2000-maxWaitingOfPeer || is.Failed != 0 {
			t.Errorf("counts %+v", is)
		}
	})
}

func TestLookupQueue_FloodFromAllPeersDoesNotDelayKnownTokens(t *testing.T) {
	underFlood(t, 50*time.Millisecond, func(t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator) {
		wantServed(calledFrom(t, 1), t, api, cluster, "known")
		time.Sleep(acceptedTTL + time.Second)
		wait := flood(t, cluster, 2*maxWaiting, invalidPrefix, func(i int) context.Context { return calledFrom(t, i) })
		if kept := len(cluster.tokens.unknownTokens.peers); kept != maxWaiting {
			t.Errorf("%d peers are left", kept)
		}
		wantServed(calledFrom(t, 1), t, api, cluster, "known")
		if got, want := wait(), (answers{rejected: maxWaiting, throttled: maxWaiting}); got != want {
			t.Errorf("the flood got %+v, want %+v", got, want)
		}
		if api.most > maxUnknownLookups+1 {
			t.Errorf("%d concurrent reviews", api.most)
		}
	})
}

func TestLookupQueue_LimitsTheRateOfAPeersRejections(t *testing.T) {
	underFlood(t, 0, func(t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator) {
		wait := flood(t, cluster, 3*maxLookupsOfPeer, invalidPrefix, func(int) context.Context { return calledFrom(t, 1) })
		for turns := 1; turns <= 3; turns++ {
			if asked := api.asked(); asked != turns*maxLookupsOfPeer {
				t.Errorf("asked %d times in turn %d", asked, turns)
			}
			time.Sleep(rejectionPenalty)
			synctest.Wait()
		}
		if got, want := wait(), (answers{rejected: 3 * maxLookupsOfPeer}); got != want {
			t.Errorf("they got %+v, want %+v", got, want)
		}
	})
}

func TestLookupQueue_DoesNotDelayGoodTokensOfOnePeer(t *testing.T) {
	underFlood(t, 0, func(t *testing.T, _ *fakeAPI, cluster *ClusterAuthenticator) {
		began := time.Now()
		wait := flood(t, cluster, maxWaitingOfPeer, "good-", func(int) context.Context { return calledFrom(t, 1) })
		if got := wait(); got.accepted != maxWaitingOfPeer || time.Since(began) != 0 {
			t.Errorf("they got %+v after %s", got, time.Since(began))
		}
	})
}

// TestLookupQueue_ServesManyClientsBehindOneAddress has 1,000 agents call for the first time, at a
// slow API server.
func TestLookupQueue_ServesManyClientsBehindOneAddress(t *testing.T) {
	underFlood(t, 100*time.Millisecond, func(t *testing.T, _ *fakeAPI, cluster *ClusterAuthenticator) {
		wait := flood(t, cluster, 1000, "good-", func(int) context.Context { return calledFrom(t, 1) })
		if got, want := wait(), (answers{accepted: 1000}); got != want {
			t.Errorf("they got %+v", got)
		}
	})
}

// TestLookupQueue_PeerTakesAtMostHalfOfTheFreePlaces has one address after the other take what it
// can.
func TestLookupQueue_PeerTakesAtMostHalfOfTheFreePlaces(t *testing.T) {
	underFlood(t, 50*time.Millisecond, func(t *testing.T, _ *fakeAPI, cluster *ClusterAuthenticator) {
		for i, want := range []int{maxWaiting / 2, maxWaiting / 4, maxWaiting / 8} {
			before := cluster.tokens.unknownTokens.waiting
			defer flood(t, cluster, 1500, fmt.Sprint(invalidPrefix, i, "-"), func(int) context.Context { return calledFrom(t, i) })()
			if got := cluster.tokens.unknownTokens.waiting - before; got != want {
				t.Errorf("address %d has %d places, want %d", i, got, want)
			}
		}
	})
}

// TestLookupQueue_DisconnectedClientsKeepTheirPlaces is about a peer that disconnects before it
// gets a response.
func TestLookupQueue_DisconnectedClientsKeepTheirPlaces(t *testing.T) {
	underFlood(t, time.Second, func(t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator) {
		gone, hangUp := context.WithCancel(calledFrom(t, 1))
		first := flood(t, cluster, maxWaitingOfPeer, invalidPrefix, func(int) context.Context { return gone })
		hangUp()
		if got := first(); got.other != maxWaitingOfPeer {
			t.Errorf("disconnected clients got %+v", got)
		}
		more := flood(t, cluster, 100, invalidPrefix+"more-", func(int) context.Context { return calledFrom(t, 1) })
		if got := more(); got.throttled != 100 || api.asked() != maxLookupsOfPeer {
			t.Errorf("later clients got %+v, with %d reviews", got, api.asked())
		}
	})
}

func TestLookupQueue_RevokedTokenWaitsLikeAnUnknownOne(t *testing.T) {
	underFlood(t, 50*time.Millisecond, func(t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator) {
		here := calledFrom(t, 1)
		for _, refuses := range []string{invalidPrefix, "known"} {
			api.set(func() { api.refuses = refuses })
			_, _ = cluster.Authenticate(here, bearer("known"))
			time.Sleep(acceptedTTL + time.Second)
		}
		wait := flood(t, cluster, maxWaitingOfPeer, invalidPrefix, func(int) context.Context { return here })
		if _, err := cluster.Authenticate(here, bearer("known")); !apierrors.IsTooManyRequests(err) {
			t.Errorf("got %v", err)
		}
		wait()
	})
}

func TestLookupQueue_TimedOutLookupsReleaseTheirSlots(t *testing.T) {
	underFlood(t, time.Hour, func(t *testing.T, api *fakeAPI, cluster *ClusterAuthenticator) {
		wait := flood(t, cluster, 3*maxUnknownLookups, invalidPrefix, func(i int) context.Context { return calledFrom(t, i%3) })
		want := answers{unavailable: 2 * maxUnknownLookups, throttled: maxUnknownLookups}
		if got := wait(); got != want || api.most != maxUnknownLookups {
			t.Errorf("they got %+v, with %d reviews at one time", got, api.most)
		}
		if err := cluster.tokens.lookups.breaker.refuse("known"); err != nil {
			t.Errorf("unknown callers can block known ones: %v", err)
		}
	})
}

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
// slot within a question's timeout.
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
		api.set(func() { api.takes = slotTimeout - time.Second })
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

func TestClusterAuthenticator_CountsTokenReviews(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		for range 3 {
			_, _ = cluster.Authenticate(t.Context(), bearer("a"))
		}
		wantReviews(t, cluster.ReviewStats(), ReviewStats{Requested: 1, CacheHits: 2})
		api.set(func() { api.fails = errors.New("refused") })
		_, _ = cluster.Authenticate(t.Context(), bearer("b"))
		wantReviews(t, cluster.ReviewStats(), ReviewStats{Requested: 2, Failed: 1, CacheHits: 2})
	})
	wantReviews(t, (&ClusterAuthenticator{}).ReviewStats(), ReviewStats{})
}

func TestAuthorizer_CountsAccessReviews(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		for _, namespace := range []string{"a", "a", "b", "b"} {
			_, _ = a.Authorize(t.Context(), carol, in(namespace))
		}
		wantReviews(t, a.ReviewStats(), ReviewStats{Requested: 2, CacheHits: 2})
	})
}

// TestAuthorizer_BadRequestIsNotCountedAsFailure is about requests that a caller can cause: they
// must not trigger alerts.
func TestAuthorizer_BadRequestIsNotCountedAsFailure(t *testing.T) {
	api := allowing("a")
	api.fails = apierrors.NewBadRequest("which?")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		_, _ = a.Authorize(t.Context(), carol, in("a"))
		wantReviews(t, a.ReviewStats(), ReviewStats{Requested: 1})
	})
}

// TestReviewStats_CountFailuresAndRejectionsSeparately runs more concurrent reviews of one caller
// than are allowed, at an API server that does not respond.
func TestReviewStats_CountFailuresAndRejectionsSeparately(t *testing.T) {
	api := allowing()
	api.takes = time.Hour
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		var all sync.WaitGroup
		for i := range maxLookupsOfCaller + 2 {
			all.Go(func() { _, _ = a.Authorize(t.Context(), carol, in(string(rune('a'+i)))) })
		}
		all.Wait()
		wantReviews(t, a.ReviewStats(), ReviewStats{
			Requested: maxLookupsOfCaller, Failed: maxLookupsOfCaller, Rejected: 2,
			Waited: 2 * slotTimeout, Took: maxLookupsOfCaller * lookupTimeout,
		})
	})
}

func wantReviews(t *testing.T, got, want ReviewStats) {
	t.Helper()
	got.DecidedAt, got.FailingSince, got.Problem = time.Time{}, time.Time{}, ""
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
