package informerhub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// looked returns the amount of work under the cache's lock for readers.
func (c *scopeCache) looked() int64 { return c.store.examined.Load() + c.feed.examined.Load() }

const (
	tenantObjects = 2000
	ownObjects    = 10
)

// tenants returns a cache with many objects of one tenant, and few of another.
func tenants(t *testing.T) *scopeCache {
	t.Helper()
	c := podCache(1 << 20)
	must(t, c.Replace(nil, "1"))
	for i := range tenantObjects {
		must(t, c.Add(podObject(t, traits{
			Namespace: "theirs", Name: fmt.Sprintf("pod-%04d", i), UID: fmt.Sprint("u", i), Version: fmt.Sprint(2 + i),
			Labels: map[string]string{"app": []string{"x", "y"}[i%2], "marker": "secret"}, Node: fmt.Sprint("node-", i%7),
			Owners: []string{"owner"},
		})))
	}
	for i := range ownObjects {
		must(t, c.Add(podObject(t, traits{
			Namespace: "ours", Name: fmt.Sprintf("pod-%04d", i), UID: fmt.Sprint("o", i), Version: fmt.Sprint(9000 + i),
			Labels: map[string]string{"app": "x"},
		})))
	}
	return c
}

// hostileQueries returns queries of sizes that callers can choose.
func hostileQueries() map[string]Query {
	values := make([]string, maxSelectedValues-10)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	values[7], values[77] = "x", "y"
	var different []string
	for i := range maxRequirements / 2 {
		different = append(different, fmt.Sprintf("app in (x,y,v%d)", i))
	}
	var among []ObjectName
	for i := range 500 {
		among = append(among, ObjectName{"theirs", fmt.Sprintf("pod-%04d", i), fmt.Sprint("u", i)})
	}
	var namespaces []string
	for i := range 3000 {
		namespaces = append(namespaces, fmt.Sprint("ns-", i))
	}
	return map[string]Query{
		"everything":              {},
		"one requirement again":   {LabelSelector: strings.TrimSuffix(strings.Repeat("app in (x,y),", 4999), ",")},
		"many requirements":       {LabelSelector: strings.Join(different, ",")},
		"many values":             {LabelSelector: "app in (" + strings.Join(values, ",") + ")"},
		"missing labels":          {LabelSelector: "!nothing,other notin (" + strings.Join(values, ",") + ")"},
		"a field":                 {FieldSelector: "spec.nodeName=node-3"},
		"a field of another kind": {FieldSelector: "status.phase=Running,spec.nodeName!=node-1"},
		"one of several owners":   {Related: Related{Owner: "owner"}},
		"many names":              {Related: Related{Among: among}},
		"a name anywhere":         {Name: "pod-0001"},
		"many namespaces":         {Namespaces: append(namespaces, "ours", "theirs"), LabelSelector: "app in (x,y)"},
	}
}

// ways returns all ways in which a caller can use a cache's lock with a selection.
func ways(t *testing.T, c *scopeCache) map[string]func(Query) {
	next := func(w *scopeWatcher, until EventType) {
		defer w.Close()
		for {
			batch, err := w.Next(t.Context())
			must(t, err)
			if slices.ContainsFunc(batch.Events, func(e Event) bool { return e.Type == until || e.Type == Bookmark }) {
				return
			}
		}
	}
	return map[string]func(Query){
		"select": func(query Query) { selectFrom(t, c, query) },
		"get":    func(Query) { _, _ = c.Get("theirs", "pod-0001") },
		"list":   func(query Query) { listOf(t, c, selectFrom(t, c, query)) },
		"watch": func(query Query) {
			next(c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: time.Millisecond}), Synced)
		},
		"resume": func(query Query) {
			next(c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: time.Millisecond, Since: &Position{Version: "2"}}), Synced)
		},
		"resume from before the window": func(query Query) {
			next(c.watch(selectFrom(t, c, query), WatchOptions{Bookmarks: time.Millisecond, Since: &Position{Version: fmt.Sprint(tenantObjects)}}), Synced)
		},
		"await": func(Query) { must(t, c.Await(t.Context(), "5", time.Second)) },
		"rescope": func(query Query) {
			few, more := query, query
			few.Namespaces, more.Namespaces = []string{"ours"}, []string{"ours", "theirs"}
			w := c.watch(selectFrom(t, c, few), WatchOptions{Bookmarks: time.Millisecond})
			defer w.Close()
			for _, to := range []Query{more, few} {
				_, err := w.Next(t.Context())
				must(t, err)
				w.Rescope(selectFrom(t, c, to))
			}
			_, err := w.Next(t.Context())
			must(t, err)
		},
		"status": func(Query) { c.status() },
	}
}

// No way to a cache's lock examines each object under it more than a few times, for any selection.
func TestCache_WorkUnderTheLockIsBounded(t *testing.T) {
	for what, query := range hostileQueries() {
		t.Run(what, func(t *testing.T) {
			c := tenants(t)
			for way, use := range ways(t, c) {
				if way == "rescope" && query.Namespaces != nil {
					continue
				}
				before := c.looked()
				use(query)
				// A way takes the lock several times, and may build an index.
				most := int64(6*(tenantObjects+ownObjects) + 4*len(query.Namespaces))
				if looked := c.looked() - before; looked > most {
					t.Errorf("%s examines %d items, want at most %d", way, looked, most)
				}
			}
		})
	}
}

// customFields has one field, "spec.custom", that a test reads in its own way.
type customFields struct {
	fieldFinder
	read func(*Object) string
}

func customField(others fieldFinder, read func(*Object) string) fieldFinder {
	return customFields{others, read}
}

func (c customFields) Find(ctx context.Context, field string) (func(*Object) string, error) {
	if field == "spec.custom" {
		return c.read, nil
	}
	return c.fieldFinder.Find(ctx, field)
}

// No field of an object is read under the lock: objects are matched, and indexes are built, without
// it.
func TestCache_NothingIsMatchedUnderTheLock(t *testing.T) {
	c := tenants(t)
	reads, locked := 0, 0
	c.selector.selectableFields = customField(c.selector.selectableFields, func(object *Object) string {
		reads++
		if !c.mu.TryLock() {
			locked++
			return ""
		}
		c.mu.Unlock()
		return object.Name()
	})
	for way, use := range ways(t, c) {
		for _, query := range []Query{
			{FieldSelector: "spec.custom=pod-0001"}, {FieldSelector: "spec.custom!=pod-0001", LabelSelector: "app in (x,y)"},
		} {
			use(query)
			if locked > 0 {
				t.Fatalf("%s has read a field under the lock %d times", way, locked)
			}
		}
	}
	if reads < tenantObjects {
		t.Errorf("only %d fields were read", reads)
	}
}

// The work for a caller of one namespace does not depend on the objects of others.
func TestCache_WorkIsIndependentOfOtherNamespaces(t *testing.T) {
	looks := func(c *scopeCache, query Query) int64 {
		before := c.looked()
		listOf(t, c, selectFrom(t, c, query))
		w := c.watch(selectFrom(t, c, query), WatchOptions{})
		defer w.Close()
		nextLines(t, w)
		return c.looked() - before
	}
	for _, restriction := range []Query{{Namespace: "ours"}, {Namespaces: []string{"ours"}}, {Namespaces: []string{"empty", "ours"}}} {
		for _, selector := range []string{"marker in (secret,q)", "marker in (nothing,q)", "marker=secret", "app=x", "!marker"} {
			alone, shared := podCache(1<<20), tenants(t)
			must(t, alone.Replace(nil, "1"))
			for _, object := range shared.store.byNamespace["ours"].appendAll(nil) {
				must(t, alone.Add(object))
			}
			query := restriction
			query.LabelSelector = selector
			if want, got := looks(alone, query), looks(shared, query); want != got {
				t.Errorf("%s in %q%q: examines %d items, and %d without the other tenant", selector, query.Namespace, query.Namespaces, got, want)
			}
		}
	}
}

func mustFind(t *testing.T, c *scopeCache, field string) func(*Object) string {
	t.Helper()
	read, err := c.selector.selectableFields.Find(t.Context(), field)
	must(t, err)
	return read
}

// Work ends when its caller has disconnected: of an endless amount, little is done.
func TestCache_WorkEndsWithItsCaller(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := tenants(t)
		reads, leaveAt := 0, 0
		var leave context.CancelFunc
		c.selector.selectableFields = customField(c.selector.selectableFields, func(object *Object) string {
			if reads++; reads == leaveAt {
				leave()
			}
			return object.Name()
		})
		query := Query{FieldSelector: "spec.custom!=pod-0001"}
		sel := selectFrom(t, c, query)
		begin := func() (ctx context.Context) {
			ctx, leave = context.WithCancel(t.Context())
			reads, leaveAt = 0, 100
			return ctx
		}
		if _, err := c.List(begin(), sel); err == nil || reads > 200 {
			t.Errorf("a list has examined %d objects: %v", reads, err)
		}
		w := c.watch(sel, WatchOptions{})
		defer w.Close()
		if _, err := w.Next(begin()); err == nil || reads > 200 {
			t.Errorf("a watch has examined %d objects: %v", reads, err)
		}
		// The watcher continues where it was interrupted.
		found := map[string]int{}
		for synced := false; !synced; {
			batch, err := w.Next(t.Context())
			must(t, err)
			for _, event := range batch.Events {
				if synced = event.Type == Synced; event.Type == Added {
					found[event.Object.Key()]++
				}
			}
		}
		if want := len(listOf(t, c, sel).Objects); len(found) != want {
			t.Errorf("found %d of %d objects", len(found), want)
		}
		for name, count := range found {
			if count != 1 {
				t.Errorf("%s was sent %d times", name, count)
			}
		}
		if _, err := c.Select(begin(), Query{FieldSelector: "spec.custom=pod-0001"}); err == nil || reads > 2*indexPart {
			t.Errorf("%d objects were indexed without a caller: %v", reads, err)
		}
		must(t, func() error {
			_, err := c.Select(t.Context(), Query{FieldSelector: "spec.custom=pod-0001"})
			return err
		}())
		if !c.store.isIndexed("spec.custom") {
			t.Error("the index was not completed")
		}
		checkIndex(t, c.store)
	})
}

// Callers share one processor: a caller whose lists never end leaves slots to others, and watchers
// that share batches do not wait for each other's slots.
func TestCache_SharesProcessorSlotsFairly(t *testing.T) {
	c := tenants(t)
	queue := fairqueue.New(fairqueue.Limits{Total: 1})
	ctx, stop := context.WithCancel(t.Context())
	var hostile, good sync.WaitGroup
	defer hostile.Wait()
	defer stop()
	everything := selectFrom(t, c, Query{LabelSelector: "app!=z"})
	for range 8 {
		hostile.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.List(fairqueue.With(ctx, queue, "hostile"), everything)
			}
		})
	}
	const changes = 200
	for i := range 8 {
		good.Go(func() {
			w := c.watch(everything, WatchOptions{})
			defer w.Close()
			for last := ""; last != fmt.Sprint(20_000+changes); {
				batch, err := w.Next(fairqueue.With(t.Context(), queue, fmt.Sprint("good-", i)))
				if err != nil {
					t.Error(err)
					return
				}
				last = batch.Position.Version
			}
		})
	}
	for i := range changes {
		must(t, c.Update(podObject(t, traits{Namespace: "ours", Name: "pod-0001", UID: "o1", Version: fmt.Sprint(20_001 + i)})))
	}
	good.Wait()
}
