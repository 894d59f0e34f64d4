package informerhub

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// nextBefore returns the events of the next batch as "version<before", or "version" if the state
// before is unknown.
func nextBefore(t *testing.T, w *scopeWatcher) []string {
	t.Helper()
	batch, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return describeAll(batch.Events, func(event Event) string {
		if event.Before == nil {
			return event.ResourceVersion
		}
		return event.ResourceVersion + "<" + event.Before.ResourceVersion()
	})
}

func TestEvent_BeforeIsTheReadersLastState(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	w := startedWatcher(t, c, Query{})
	must(t, c.Update(pod(t, "a", 11)))
	must(t, c.Add(pod(t, "b", 12)))
	must(t, c.Update(pod(t, "a", 13)))
	must(t, c.Delete(pod(t, "a", 14)))
	checkSame(t, []string{"11<3", "12", "13<11", "14"}, nextBefore(t, w))
	checkSame(t, []string{"13<11", "14"}, nextBefore(t, resumed(t, c, Query{}, Position{Version: "12"})))
}

func TestEvent_EnteringASelectionHasNoBefore(t *testing.T) {
	c := syncedPods(t, 10, podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "3", Node: "node-1"}))
	w := startedWatcher(t, c, Query{FieldSelector: "spec.nodeName=node-2"})
	must(t, c.Update(podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "11", Node: "node-2"})))
	must(t, c.Update(podObject(t, traits{Namespace: "default", Name: "a", UID: "uid-a", Version: "12", Node: "node-2"})))
	checkSame(t, []string{"11", "12<11"}, nextBefore(t, w))
}

func TestLatestStates_HaveNoBeforeUnlikeLaterSteps(t *testing.T) {
	c := podCache(1)
	must(t, c.Replace(items(pod(t, "a", 3)), "10"))
	must(t, c.Update(pod(t, "a", 11)))
	w := resumed(t, c, Query{}, Position{Version: "10"})
	checkSame(t, []string{"11"}, nextBefore(t, w))
	expect(t, w, "BOOKMARK at 11")
	c.feed.window.limit = 1 << 20
	must(t, c.Update(pod(t, "a", 12)))
	checkSame(t, []string{"12<11"}, nextBefore(t, w))
}

func TestEvent_NoBeforeIfAnotherReplicaDeliveredIt(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core)
	_, cache, upstream := syncedHub(t, api)
	api.SetVersion("25")
	w := resumed(t, cache, Query{}, Position{Version: "20"})
	received := make(chan []string)
	next := func() { received <- nextBefore(t, w) }
	go next()
	checkSame(t, []string{"20"}, <-received)
	upstream.Send(t, watch.Modified, typedPod("a", "15"))
	upstream.Send(t, watch.Modified, typedPod("a", "21"))
	go next()
	checkSame(t, []string{"21"}, <-received)
	upstream.Send(t, watch.Modified, typedPod("a", "22"))
	go next()
	checkSame(t, []string{"22<21"}, <-received)
}

func TestRescope_EventsHaveNoBefore(t *testing.T) {
	c := podCache(1 << 20)
	must(t, c.Replace(items(in(t, "a", "one", "1"), in(t, "b", "one", "2")), "5"))
	r := followingNamespaces(t, c, "a")
	must(t, c.Update(in(t, "a", "one", "6")))
	r.watcher.Rescope(selectFrom(t, c, Query{Namespaces: []string{"a", "b"}}))
	checkSame(t, []string{"6", "6"}, nextBefore(t, r.watcher))
	must(t, c.Update(in(t, "b", "one", "7")))
	checkSame(t, []string{"7<2"}, nextBefore(t, r.watcher))
}

func TestEncodedPatch_EncodedOnceForEachBefore(t *testing.T) {
	a, b, c := pod(t, "a", 1), pod(t, "a", 2), pod(t, "a", 3)
	c.CacheEncodings()
	made := 0
	encode := func(before, _ *Object) []byte { made++; return []byte(before.ResourceVersion()) }
	ask := func(before *Object) string {
		return string(Event{Object: c, Before: before}.EncodedPatch(object.PatchEncoding{Slot: 2, Encode: encode}))
	}
	checkSame(t, []string{"2", "2"}, []string{ask(b), ask(b)})
	if made != 1 {
		t.Errorf("encoded %d times", made)
	}
	if ask(a) != "1" || ask(nil) != "" || made != 2 {
		t.Errorf("another one was encoded %d times", made)
	}
	c.DropEncodings()
	if ask(a) != "1" || made != 3 {
		t.Errorf("one outside the window was encoded %d times", made)
	}
}
