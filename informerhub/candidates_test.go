package informerhub

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

func filterOf(t testing.TB, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// on returns a pod with a name and version on a node.
func on(t tester, name, node string, version int) *Object {
	t.Helper()
	return podObject(t, traits{Namespace: "default", Name: name, UID: "uid-" + name, Version: fmt.Sprint(version), Labels: map[string]string{"app": "web"}, Node: node})
}

func TestCache_ListReturnsObjectsThatPassTheFilter(t *testing.T) {
	c := syncedPods(t, 10, on(t, "a", "n1", 1), on(t, "b", "n2", 2), on(t, "c", "n1", 3))
	for text, want := range map[string][]string{
		`object.spec.nodeName == 'n1'`: {"default/a", "default/c"},
		`object.metadata.name != 'a' && object.metadata.labels['app'] == 'web' && object.spec.nodeName == 'n1'`: {"default/c"},
		`object == object`:          {"default/a", "default/b", "default/c"},
		`has(object.spec.volumes)`:  nil,
		`has(object.spec.hostname)`: nil,
		`object.kind == 'Pod'`:      {"default/a", "default/b", "default/c"},
		`object.spec.containers == null || object.apiVersion == 'v1'`: {"default/a", "default/b", "default/c"},
		`object.status == {}`: {"default/a", "default/b", "default/c"},
	} {
		list := listOf(t, c, selectFrom(t, c, Query{Filter: filterOf(t, text)}))
		checkSame(t, want, names(list.Objects))
		if len(list.Warnings) > 0 {
			t.Errorf("%s: the warnings are %q", text, list.Warnings)
		}
	}
}

func TestSelection_FiltersCustomObjects(t *testing.T) {
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "default", "uid": "u", "resourceVersion": "1"},
		"spec":     map[string]any{"size": int64(3), "sides": []any{map[string]any{"color": "red"}, map[string]any{}}},
	}}
	text, err := widget.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	object := decodeOne(t, &object.Codec{Kind: widgets.GroupVersionKind()}, text)
	for text, want := range map[string]bool{
		`object.spec.size == 3 && type(object.spec.size) == int`:            true,
		`object.spec.sides.exists(s, has(s.color) && s.color == 'red')`:     true,
		`object.spec.sides.all(s, s.color == 'red')`:                        false,
		`object.spec.sides.size() == 2 && !has(object.spec.sides[1].color)`: true,
		`!has(object.spec.lid)`:                                             true,
	} {
		if got := (&Selection{filter: filterOf(t, text)}).Matches(object); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
}

func TestCache_ListWarnsOfObjectsWithoutAFilterValue(t *testing.T) {
	c := syncedPods(t, 10, on(t, "a", "n1", 1), on(t, "b", "n2", 2), pod(t, "c", 3))
	for text, want := range map[string]string{
		`object.spec.replicsa > 3`:            "the filter has no value for 3 of 3 objects, which are left out: no such key: replicsa (default/a, …)",
		`object.metadata.labels['app'] != ''`: "the filter has no value for 1 of 3 objects, which are left out: no such key: labels (default/c)",
	} {
		list := listOf(t, c, selectFrom(t, c, Query{Filter: filterOf(t, text)}))
		checkSame(t, []string{want}, list.Warnings)
	}
	none := listOf(t, c, selectFrom(t, c, Query{Name: "x", Filter: filterOf(t, `object.spec.replicsa > 3`)}))
	checkSame(t, nil, none.Warnings)
}

func TestCache_TooCostlyFilterIsABadRequest(t *testing.T) {
	var objects []*Object
	for i := range 3000 {
		objects = append(objects, pod(t, fmt.Sprint("p", i), i+1))
	}
	c := syncedPods(t, 4000, objects...)
	costly := "!object.metadata.name.matches('" + strings.Repeat("(x+x+)+", 500) + "y')" // 3,500 for each
	all := selectFrom(t, c, Query{Filter: filterOf(t, costly)})
	_, err := c.List(t.Context(), all)
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "for all objects together") {
		t.Errorf("the list's error is %v", err)
	}
	w := c.watch(all, WatchOptions{Bookmarks: interval})
	defer w.Close()
	for err = nil; err == nil; {
		var batch Batch
		batch, err = w.Next(t.Context())
		if n := len(batch.Events); n > 0 && batch.Events[n-1].Type == Synced {
			t.Fatal("the snapshot is complete")
		}
	}
	if !apierrors.IsBadRequest(err) {
		t.Errorf("the watch ended with %v", err)
	}
}

func TestCache_ListEndsWithItsContext(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.List(ctx, selectFrom(t, c, Query{Filter: filterOf(t, "true")})); err == nil {
		t.Error("continues without its caller")
	}
}

// TestWatcher_DeliversTransitionsOfAFilter has two watchers with one filter, which read the same,
// and one whose expression has no value for some objects.
func TestWatcher_DeliversTransitionsOfAFilter(t *testing.T) {
	c := syncedPods(t, 10, on(t, "a", "n1", 1), on(t, "b", "n2", 2))
	shared := filterOf(t, `object.spec.nodeName == 'n1'`)
	one, two := startedWatcher(t, c, Query{Filter: shared}), startedWatcher(t, c, Query{Filter: shared})
	labelled := startedWatcher(t, c, Query{Filter: filterOf(t, `object.metadata.labels['app'] == 'web' && object.spec.nodeName == 'n1'`)})
	must(t, c.Update(on(t, "b", "n1", 11)))
	must(t, c.Update(on(t, "b", "n1", 12)))
	must(t, c.Update(on(t, "a", "n2", 13)))
	must(t, c.Delete(on(t, "a", "n2", 14)))
	must(t, c.Update(podObject(t, traits{Namespace: "default", Name: "b", UID: "uid-b", Version: "15", Node: "n1"})))
	want := []string{"ADDED default/b@11 at 11", "MODIFIED default/b@12 at 12", "DELETED default/a@1 at 13"}
	for _, w := range []*scopeWatcher{one, two} {
		checkSame(t, append(want, "MODIFIED default/b@15 at 15"), nextLines(t, w))
	}
	checkSame(t, append(want, "DELETED default/b@12 at 15"), nextLines(t, labelled))
}

func TestSelection_KeyDependsOnTheFilter(t *testing.T) {
	c := syncedPods(t, 10)
	keys := make(map[SelectionKey]bool)
	for _, f := range []*filter.Filter{nil, filterOf(t, "true"), filterOf(t, "false"), filterOf(t, "object.nil")} {
		keys[selectFrom(t, c, Query{Filter: f}).Key()] = true
	}
	if len(keys) != 4 {
		t.Errorf("there are %d keys of 4 selections: %v", len(keys), keys)
	}
}

// BenchmarkFilter measures the evaluation of a filter for a pod, with only the fields that it reads
// and with the whole object.
func BenchmarkFilter(b *testing.B) {
	object := decodeOne(b, &object.Codec{Kind: pods.GroupVersionKind()}, testobjects.ProtobufBody(b, aWholePod(b)))
	for name, text := range map[string]string{
		"fields":     `object.status.phase == 'Running' && object.spec.nodeName == 'n1'`,
		"containers": `object.spec.containers.exists(c, c.image.endsWith(':latest'))`,
		"whole":      `object != null && object.status.phase == 'Running' && object.spec.nodeName == 'n1'`,
	} {
		f := filterOf(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if matches, err := object.PassesFilter(f, nil); !matches || err != nil {
					b.Fatal(matches, err)
				}
			}
		})
	}
}

// aWholePod returns a realistic pod.
func aWholePod(t testing.TB) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("internal/kubejson/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(text, &pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase, pod.Spec.NodeName, pod.Spec.Containers[0].Image = corev1.PodRunning, "n1", "web:latest"
	return &pod
}

// warnedOf returns the warnings of the next batch.
func warnedOf(t *testing.T, w *scopeWatcher) []string {
	t.Helper()
	batch, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return batch.Warnings
}

// noValue returns the warning of a filter on a label.
func noValue(count, of int, first string) string {
	return fmt.Sprintf("the filter has no value for %d of %d objects, which are left out: no such key: labels (%s)", count, of, first)
}

// unlabelled returns a pod that a filter on a label has no value for.
func unlabelled(t *testing.T, name string, version int) *Object {
	return podObject(t, traits{Namespace: "default", Name: name, UID: "uid-" + name, Version: fmt.Sprint(version), Node: "n1"})
}

// TestWatcher_WarnsOfObjectsThatTheFilterHasNoValueFor reads a snapshot, changes without events,
// and changes in a burst.
func TestWatcher_WarnsOfObjectsThatTheFilterHasNoValueFor(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, on(t, "a", "n1", 1), unlabelled(t, "b", 2))
		query := Query{Filter: filterOf(t, `object.metadata.labels['app'] == 'web'`)}
		first, second := c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: interval}), c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: interval})
		for _, w := range []*scopeWatcher{first, second} {
			defer w.Close()
			checkSame(t, []string{noValue(1, 2, "default/b")}, warnedOf(t, w))
		}
		checkSame(t, nil, warnedOf(t, first)) // a bookmark, an interval later
		must(t, c.Update(unlabelled(t, "c", 11)))
		must(t, c.Update(unlabelled(t, "c", 12)))
		must(t, c.Update(on(t, "d", "n1", 13)))
		for _, w := range []*scopeWatcher{first, second} {
			checkSame(t, []string{noValue(2, 3, "default/c, …")}, warnedOf(t, w))
		}
		must(t, c.Update(unlabelled(t, "a", 14))) // DELETED from the selection
		must(t, c.Update(on(t, "d", "n2", 15)))
		checkSame(t, nil, warnedOf(t, first)) // an interval has not passed since the last warning
		checkSame(t, []string{noValue(1, 2, "default/a")}, warnedOf(t, first))
		checkSame(t, nil, warnedOf(t, first))
	})
}

// TestWatcher_WarnsOfTheFilterAfterRescopeResumeAndResync switches to other namespaces, resumes
// from a position in the log, and begins with another snapshot.
func TestWatcher_WarnsOfTheFilterAfterRescopeResumeAndResync(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := syncedPods(t, 10, on(t, "a", "n1", 1), unlabelled(t, "b", 2))
		query := Query{Filter: filterOf(t, `object.metadata.labels['app'] == 'web'`), Namespaces: []string{}}
		w := c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: interval})
		defer w.Close()
		checkSame(t, nil, warnedOf(t, w))
		time.Sleep(interval)
		query.Namespaces = []string{"default"}
		w.Rescope(selectFrom(t, c, query))
		checkSame(t, []string{noValue(1, 2, "default/b")}, warnedOf(t, w))

		back := c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: interval, Since: &Position{Version: "1", Epoch: c.feed.epoch.id}})
		defer back.Close()
		must(t, c.Update(unlabelled(t, "c", 11)))
		c.feed.window.restart(c.feed.last+1, "11") // only the log reaches back
		c.feed.log.compactVersion = "1"
		checkSame(t, []string{noValue(2, 2, "default/b, …")}, warnedOf(t, back))

		must(t, c.Replace(items(on(t, "a", "n1", 1), unlabelled(t, "b", 2)), "5")) // undone
		checkSame(t, []string{noValue(1, 2, "default/b")}, warnedOf(t, w))
	})
}
