package streams

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/joins"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// TestLiveJoins_RestBetweenChanges joins a changed object before the end of the rest.
func TestLiveJoins_RestBetweenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := &liveJoins{restUntil: began.Add(joinInterval)}
		if err := l.rest(t.Context()); err != nil || time.Since(began) != joinInterval {
			t.Errorf("it rested %v: %v", time.Since(began), err)
		}
		if err := l.rest(t.Context()); err != nil || time.Since(began) != joinInterval {
			t.Errorf("it rested again, until %v: %v", time.Since(began), err)
		}
		l.restUntil = time.Now().Add(joinInterval)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.rest(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("at the end of the call it returned %v", err)
		}
	})
}

// newTestJoins returns joins of a caller's page that are due. The page has one join, of objects without owners.
func newTestJoins(turns *fairqueue.Queue, kept *ledger.Ledger, caller string) *liveJoins {
	l := &liveJoins{
		turns: turns, account: kept.Account(caller, caller), lease: &access.Lease{Caller: call.Caller{Identity: auth.Identity{Username: caller}}},
		relater: &reads.Relater{}, page: joins.NewPage([]joins.Join{{Name: "j", Relation: joins.OwnerOf{}}}, nil),
		isChanged: true, checkAt: time.Now().Add(time.Hour),
	}
	l.unsent, _ = l.account.Charge(0)
	return l
}

// TestLiveJoins_WaitingIsNotComputing waits long for a turn: the next look does not wait for a multiple of that.
func TestLiveJoins_WaitingIsNotComputing(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		turns, kept := newJoinTurns(gate.Limits{Streams: 1}), ledger.New(ledger.Limits{Total: 1 << 30})
		endTurn, err := turns.Acquire(t.Context(), call.CallerKey(auth.Identity{Username: "jane"}), 1)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, endTurn)
		joined := newTestJoins(turns, kept, "jane")
		objects := []*informerhub.Object{objecttest.WidgetObject(t, objecttest.WidgetText)}
		if _, err := joined.results(t.Context(), objects, nil); err != nil {
			t.Fatal(err)
		}
		if all, err := joined.isDue(t.Context()); !all || err != nil {
			t.Errorf("before the results are in a batch, all objects are joined again: %t, %v", all, err)
		}
		joined.settle()
		if all, err := joined.isDue(t.Context()); all || err != nil {
			t.Errorf("after it, all objects are joined again: %t, %v", all, err)
		}
		if next := time.Until(joined.checkAt); next != joinInterval {
			t.Errorf("the related objects are compared next after %v, want %v", next, joinInterval)
		}
	})
}

// TestLiveJoins_AreComputedInTurn computes the joins of two pages of one caller, and of one of another, while
// another page of the first caller has its turn.
func TestLiveJoins_AreComputedInTurn(t *testing.T) {
	objects := []*informerhub.Object{objecttest.WidgetObject(t, objecttest.WidgetText)}
	faketime.Test(t, func(t *testing.T) {
		turns, kept := newJoinTurns(gate.Limits{Streams: 1}), ledger.New(ledger.Limits{Total: 1 << 30})
		endTurn, err := turns.Acquire(t.Context(), call.CallerKey(auth.Identity{Username: "jane"}), 1)
		if err != nil {
			t.Fatal(err)
		}
		computed := make(chan string, 3)
		for _, caller := range []string{"jane", "jane", "joe"} {
			go func() {
				if _, err := newTestJoins(turns, kept, caller).results(t.Context(), objects, nil); err != nil {
					t.Error(err)
				}
				computed <- caller
			}()
		}
		synctest.Wait()
		if caller := <-computed; caller != "joe" || len(computed) > 0 || kept.Kept()["jane"] > 0 {
			t.Errorf("%s's page is computed, and %d others; %v is kept", caller, len(computed), kept.Kept())
		}
		endTurn()
		synctest.Wait()
		if len(computed) != 2 {
			t.Errorf("then %d pages are computed, want 2", len(computed))
		}
	})
}

// TestLiveJoins_ResultsAreChargedUntilTheyAreSent has results of a known size.
func TestLiveJoins_ResultsAreChargedUntilTheyAreSent(t *testing.T) {
	kept := ledger.New(ledger.Limits{Total: 1 << 30})
	page := &livePage{joined: newTestJoins(newJoinTurns(gate.Limits{}), kept, "jane")}
	results, err := page.joined.results(t.Context(), []*informerhub.Object{objecttest.WidgetObject(t, objecttest.WidgetText)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := kept.Kept()["jane"]; got == 0 || got != len(results[0].message) {
		t.Errorf("%d bytes are charged for %q", got, results)
	}
	page.release()
	if got := kept.Kept(); len(got) > 0 {
		t.Errorf("after the results were sent, %v is charged", got)
	}
}

// TestLiveJoins_InterruptedChangesAreRepeated interrupts the first computation after the joins have
// come to read something else.
func TestLiveJoins_InterruptedChangesAreRepeated(t *testing.T) {
	object := objecttest.WidgetObject(t, objecttest.WidgetText)
	held := []heldObject{heldOf(object, joinedResult{hash: "before"})}
	l := newTestJoins(newJoinTurns(gate.Limits{}), nil, "jane")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.results(ended, []*informerhub.Object{object}, held); !errors.Is(err, context.Canceled) {
		t.Fatalf("the computation was not interrupted: %v", err)
	}
	for range 2 {
		results, err := l.results(t.Context(), []*informerhub.Object{object}, held)
		if err != nil || results[0].hash == "before" {
			t.Fatalf("the object was not joined again: %q, %v", results, err)
		}
		held[0].joined = results[0]
	}
	l.settle()
	if l.isChanged {
		t.Error("the objects are joined again and again")
	}
}

// TestLiveJoins_KindsOfOwnersAreLookedUpOnce resolves the joins of a page again, whose objects have an
// owner of a kind that the cluster does not serve.
func TestLiveJoins_KindsOfOwnersAreLookedUpOnce(t *testing.T) {
	var discoveries atomic.Int32
	api := servertest.PodsAPI()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" {
			discoveries.Add(1)
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	hub, err := informerhub.New(&rest.Config{Host: upstream.URL}, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	l := &liveJoins{relater: &reads.Relater{Hub: hub, Targets: target.NewResolver(hub)}, page: joins.NewPage(nil, nil), forgetAt: time.Now().Add(time.Hour)}
	follow := func(relater *reads.Relater, follow func(*joins.Page) error) int32 {
		before, page := discoveries.Load(), joins.NewPage(nil, nil)
		if err := follow(page); err != nil || len(page.Followed()) != 1 {
			t.Fatalf("%v are followed: %v", page.Followed(), err)
		}
		l.relater, l.page = relater, page
		return discoveries.Load() - before
	}
	if read := follow(l.relater, func(page *joins.Page) error {
		return l.relater.Follow(t.Context(), page, []schema.GroupKind{{Group: "example.com", Kind: "Gone"}})
	}); read == 0 {
		t.Error("an unknown kind was not looked up")
	}
	for range 3 {
		next := &reads.Relater{Hub: hub, Targets: l.relater.Targets}
		if read := follow(next, func(page *joins.Page) error { return l.followKnown(t.Context(), next, page) }); read != 0 {
			t.Errorf("discovery was read %d times again", read)
		}
	}
	l.forgetAt = time.Time{}
	next, page := &reads.Relater{}, joins.NewPage(nil, nil)
	if err := l.followKnown(t.Context(), next, page); err != nil || len(page.Followed())+len(next.Unserved) != 0 {
		t.Errorf("after the interval %v are followed, and %v are not served: %v", page.Followed(), next.Unserved, err)
	}
}
