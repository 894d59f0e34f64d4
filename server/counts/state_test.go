package counts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

func widget(t testing.TB, name, spec string) *informerhub.Object {
	t.Helper()
	return objecttest.WidgetObject(t, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"a","name":%q,"uid":"u","resourceVersion":"1"},"spec":%s}`, name, spec))
}

func pathOf(t interface{ Fatalf(string, ...any) }, text string) mask.Path {
	path, err := mask.ParsePath(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

// planOf returns a plan with all aggregates of a path; none if the path is empty.
func planOf(t testing.TB, groupBy, aggregated string) *Plan {
	t.Helper()
	var paths []mask.Path
	for _, text := range strings.Fields(groupBy) {
		paths = append(paths, pathOf(t, text))
	}
	var aggregates []Aggregate
	if aggregated != "" {
		for _, function := range []tally.Function{tally.Sum, tally.Average, tally.Min, tally.Max} {
			aggregates = append(aggregates, Aggregate{function, pathOf(t, aggregated)})
		}
	}
	plan, err := NewPlan(paths, aggregates)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// newState returns the counts of no objects, for which there is always memory.
func newState(plan *Plan) *State { return NewState(plan, func(int) error { return nil }) }

// text returns a group or its aggregates as text.
func text(value any) string {
	encoded, _ := json.Marshal(value)
	return string(encoded)
}

func TestPlan_KeyIsThatOfTheSameCounts(t *testing.T) {
	keys := map[PlanKey]string{}
	for _, test := range []struct{ by, aggregated string }{
		{"spec.a", ""}, {"spec.a spec.b", ""}, {"spec.b spec.a", ""}, {"spec.a", "spec.b"}, {"spec.a", "spec.c"}, {"", "spec.b"}, {"", ""}, {"spec['a,b']", ""},
	} {
		key, name := planOf(t, test.by, test.aggregated).Key(), fmt.Sprint(test)
		if other, ok := keys[key]; ok {
			t.Errorf("%s and %s have the key %v", name, other, key)
		}
		keys[key] = name
		if again := planOf(t, strings.ReplaceAll(test.by, "spec.a", "['spec']['a']"), test.aggregated).Key(); again != key {
			t.Errorf("%s has the keys %v and %v", name, key, again)
		}
	}
}

// reader is a client: the groups that it has, by their values, and the generation that it has read.
type reader struct {
	generation uint64
	held       Held
	groups     map[string]string
	total      string
}

// read applies the difference to what the reader has read before.
func (r *reader) read(t *rapid.T, state *State, generation uint64) {
	difference := state.Since(r.generation)
	if r.groups == nil {
		difference = state.All()
	}
	if difference.Reset {
		r.groups, r.held = map[string]string{}, Held{}
	}
	plan := state.counter.plan
	for _, g := range difference.Groups {
		encoded := plan.Encode(g)
		key := text(encoded.GetValues())
		if !r.held.Take(g, encoded) {
			continue
		}
		if known, ok := r.groups[key]; ok && known == text(encoded) || !ok && encoded.GetCount() == 0 {
			t.Fatalf("the reader has %v, and gets %s of %s", r.groups, text(encoded), key)
		}
		if encoded.GetCount() == 0 {
			if difference.Reset {
				t.Fatalf("removed group %s is sent with a reset", key)
			}
			delete(r.groups, key)
			continue
		}
		r.groups[key] = text(encoded)
	}
	if kept := len(r.held.digests) * 8; len(difference.Groups) > 0 && kept > difference.HeldBytes() {
		t.Fatalf("the reader keeps %d bytes, and is charged for %d", kept, difference.HeldBytes())
	}
	r.generation, r.total = generation, fmt.Sprint(difference.Total.Count(), text(plan.EncodeAggregates(difference.Total)))
}

// want fails the test unless the reader has the counts of the objects.
func (r *reader) want(t *rapid.T, plan *Plan, objects map[string]*informerhub.Object) {
	counter := NewCounter(plan, func(int, int) error { return nil })
	for _, object := range objects {
		if err := counter.Add(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	groups, _ := counter.Largest(1<<20, 1<<30)
	want := map[string]string{}
	for _, g := range groups {
		want[text(g.GetValues())] = text(g)
	}
	if total := fmt.Sprint(counter.Total().Count(), text(plan.EncodeAggregates(counter.Total()))); r.total != total || !maps.Equal(r.groups, want) {
		t.Fatalf("the reader has %s in total, and %v\nwant %s in total, and %v", r.total, r.groups, total, want)
	}
}

var (
	aSpec = rapid.Custom(func(t *rapid.T) string {
		value := rapid.SampledFrom([]string{"null", `"red"`, `"blue"`, "1", "1.0", `"1"`, `"500m"`, "true", "2.5", "1e300", `"a"`})
		return fmt.Sprintf(`{"color":%s,"size":%s,"parts":[%s]}`, value.Draw(t, "color"), value.Draw(t, "size"),
			strings.Join(rapid.SliceOfN(value, 0, 3).Draw(t, "parts"), ","))
	})
	aPath = rapid.SampledFrom([]string{"spec.color", "spec.size", "spec.parts[*]", "spec.none", "metadata.name"})
)

func drawPlan(t *rapid.T) *Plan {
	var paths []mask.Path
	for _, text := range rapid.SliceOfN(aPath, 0, 3).Draw(t, "group by") {
		paths = append(paths, pathOf(t, text))
	}
	var aggregates []Aggregate
	for range rapid.IntRange(0, 4).Draw(t, "aggregates") {
		function := rapid.SampledFrom([]tally.Function{tally.Sum, tally.Average, tally.Min, tally.Max}).Draw(t, "function")
		aggregates = append(aggregates, Aggregate{function, pathOf(t, aPath.Draw(t, "path"))})
	}
	plan, err := NewPlan(paths, aggregates)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestState_ReadersHaveTheCountsOfEachGeneration has readers that read after some generations, and
// states that are filled again after some changes, as by a follower.
func TestState_ReadersHaveTheCountsOfEachGeneration(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan, objects, generation := drawPlan(rt), map[string]*informerhub.Object{}, uint64(0)
		remembers := rapid.IntRange(0, 4).Draw(rt, "remembered groups")
		var state *State
		var readers []*reader
		fill := func() {
			state = newState(plan)
			state.maxRemoved = remembers
			for _, object := range objects {
				if err := state.Change(nil, object, 0); err != nil {
					rt.Fatal(err)
				}
			}
			generation++
			readers = []*reader{{}, {}, {}}
		}
		fill()
		for range rapid.IntRange(1, 25).Draw(rt, "publications") {
			generation++
			for range rapid.IntRange(1, 4).Draw(rt, "changes") {
				name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(rt, "name")
				before, after := objects[name], (*informerhub.Object)(nil)
				if before == nil || rapid.IntRange(0, 2).Draw(rt, "deletes") > 0 {
					after = widget(t, name, aSpec.Draw(rt, "spec"))
					objects[name] = after
				} else {
					delete(objects, name)
				}
				if err := state.Change(before, after, generation); err != nil {
					rt.Fatal(err)
				}
			}
			for _, reader := range readers {
				if rapid.IntRange(0, 2).Draw(rt, "reads") > 0 {
					reader.read(rt, state, generation)
					reader.want(rt, plan, objects)
				}
			}
			if rapid.IntRange(0, 9).Draw(rt, "restarts") == 0 {
				fill()
			}
		}
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if err := state.Change(objects[name], nil, generation+1); err != nil {
				rt.Fatal(err)
			}
		}
		state.maxRemoved = 0
		state.forget()
		if empty := newState(plan); state.counter.bytes != empty.counter.bytes || state.messageBytes != 0 || state.removedBytes != 0 || len(state.counter.groups) != 0 {
			rt.Fatalf("without objects, %d bytes remain, %d in messages, %d of removed groups, %d groups",
				state.counter.bytes-empty.counter.bytes, state.messageBytes, state.removedBytes, len(state.counter.groups))
		}
	})
}

func TestState_ChangesThatAreNotCountedChangeNoGroup(t *testing.T) {
	for name, plan := range map[string]*Plan{"by groups": planOf(t, "spec.color", "spec.size"), "in total": planOf(t, "", "")} {
		t.Run(name, func(t *testing.T) {
			state := newState(plan)
			before, after := widget(t, "a", `{"color":"red","size":1,"other":1}`), widget(t, "a", `{"color":"red","size":1,"other":2}`)
			if err := state.Change(nil, before, 0); err != nil {
				t.Fatal(err)
			}
			if err := state.Change(before, after, 2); err != nil {
				t.Fatal(err)
			}
			if got := state.Since(1); got.Reset || len(got.Groups) != 0 || got.Total.Count() != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestState_SendsOnlyGroupsThatHaveChanged(t *testing.T) {
	state := newState(planOf(t, "spec.color", ""))
	red, blue, green := widget(t, "r", `{"color":"red"}`), widget(t, "b", `{"color":"blue"}`), widget(t, "g", `{"color":"green"}`)
	for generation, step := range []struct{ before, after *informerhub.Object }{
		{nil, red}, {nil, blue}, {nil, green}, {red, blue}, {nil, blue},
	} {
		if err := state.Change(step.before, step.after, uint64(generation)); err != nil {
			t.Fatal(err)
		}
	}
	for since, want := range map[uint64]string{2: `0 "red", 3 "blue"`, 3: `3 "blue"`, 4: ``} {
		var lines []string
		for _, g := range state.Since(since).Groups {
			lines = append(lines, fmt.Sprintf("%d %q", g.Count(), state.counter.plan.Encode(g).GetValues()[0].GetStringValue()))
		}
		slices.Sort(lines)
		if got := strings.Join(lines, ", "); got != want {
			t.Errorf("since %d: got %s, want %s", since, got, want)
		}
	}
}

func TestState_TooManyGroupsAreRejected(t *testing.T) {
	for name, test := range map[string]struct {
		by, aggregated string
		spec           func(int) string
		fit            int // the number of objects that fit
		says           string
	}{
		"groups":              {"spec.n", "", func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }, 10_000, "more than 10000 groups"},
		"bytes of values":     {"spec.n", "", func(i int) string { return fmt.Sprintf(`{"n":"%d%s"}`, i, strings.Repeat("x", 1<<20)) }, 2, "3 MiB"},
		"bytes of aggregates": {"metadata.name", "spec.n", func(i int) string { return fmt.Sprintf(`{"n":"%d%s"}`, i, strings.Repeat("x", 2_000)) }, 1_000, "3 MiB"},
		"bytes of one object": {"spec.a[*] spec.n", "", func(int) string { return wide }, 0, "64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(planOf(t, test.by, test.aggregated))
			for i := range test.fit {
				if err := state.Change(nil, widget(t, fmt.Sprint("w-", i), test.spec(i)), 0); err != nil {
					t.Fatalf("object %d: %v", i, err)
				}
			}
			var err error
			for i := test.fit; err == nil && i < test.fit+1_000; i++ {
				err = state.Change(nil, widget(t, fmt.Sprint("w-", i), test.spec(i)), 0)
			}
			if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("returned %v", err)
			}
		})
	}
}

// TestState_BytesAreNotBelowTheHeap counts objects with values of all lengths.
func TestState_BytesAreNotBelowTheHeap(t *testing.T) {
	for name, test := range map[string]struct {
		by, aggregated string
		count, length  int
	}{
		"short groups":                    {"spec.n", "", 1_000, 10},
		"large groups":                    {"spec.n", "", 5, 400_000},
		"short aggregates":                {"", "spec.n", 1_000, 10},
		"aggregates that are not cut":     {"", "spec.n", 300, 1_000},
		"large aggregates":                {"", "spec.n", 30, 480_000},
		"large aggregates of many groups": {"metadata.name", "spec.n", 30, 480_000},
	} {
		t.Run(name, func(t *testing.T) {
			objects := make([]*informerhub.Object, test.count)
			for i := range objects {
				objects[i] = widget(t, fmt.Sprint("w-", i), fmt.Sprintf(`{"n":"%d%s"}`, i, strings.Repeat("x", test.length)))
			}
			state := newState(planOf(t, test.by, test.aggregated))
			before := heap()
			for _, object := range objects {
				if err := state.Change(nil, object, 1); err != nil {
					t.Fatal(err)
				}
			}
			kept := heap() - before
			t.Logf("%d bytes are kept, %d are counted", kept, state.Bytes())
			if kept > state.Bytes() {
				t.Errorf("%d bytes are kept, and %d are counted", kept, state.Bytes())
			}
			if most := test.count*16<<10 + 64<<10; test.by != "spec.n" && state.Bytes() > most {
				t.Errorf("%d bytes are counted, more than %d", state.Bytes(), most)
			}
			runtime.KeepAlive(objects)
		})
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// wide is a spec with a thousand short values and a long one.
var wide = func() string {
	values := make([]string, 1_000)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	return fmt.Sprintf(`{"n":"%s","a":[%s]}`, strings.Repeat("x", 1<<19), strings.Join(values, ","))
}()

func TestState_OldRemovedGroupsAreForgotten(t *testing.T) {
	state := newState(planOf(t, "spec.n", ""))
	for i := range maxRemoved + 10 {
		object := widget(t, "w", fmt.Sprintf(`{"n":%d}`, i))
		if err := state.Change(nil, object, uint64(2*i+1)); err != nil {
			t.Fatal(err)
		}
		if err := state.Change(object, nil, uint64(2*i+2)); err != nil {
			t.Fatal(err)
		}
	}
	if got := state.Since(uint64(2 * 10)); got.Reset || len(got.Groups) != maxRemoved {
		t.Errorf("a reader that has missed %d groups gets %d, reset %v", maxRemoved, len(got.Groups), got.Reset)
	}
	if got := state.Since(uint64(2*10 - 1)); !got.Reset || len(got.Groups) != 0 {
		t.Errorf("a reader that has missed more gets %d, reset %v", len(got.Groups), got.Reset)
	}
}

func BenchmarkState_Change(b *testing.B) {
	pods := make([]*informerhub.Object, 20_000)
	for i := range pods {
		pods[i] = widget(b, fmt.Sprint("w-", i), fmt.Sprintf(`{"node":"node-%d","containers":[{"cpu":"%dm"},{"cpu":"1"}]}`, i%500, i%1000))
	}
	plan := planOf(b, "spec.node metadata.namespace", "spec.containers[*].cpu")
	state := newState(plan)
	for _, pod := range pods {
		if err := state.Change(nil, pod, 0); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		before := pods[i%len(pods)]
		after := pods[(i+7919)%len(pods)]
		if err := state.Change(before, after, uint64(i+1)); err != nil {
			b.Fatal(err)
		}
		if err := state.Change(after, before, uint64(i+1)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestState_EndsAChangeForWhichThereIsNoMemory has one object that is in thousands of groups.
func TestState_EndsAChangeForWhichThereIsNoMemory(t *testing.T) {
	values := make([]string, 1000)
	for i := range values {
		values[i] = fmt.Sprintf("%q", fmt.Sprint(strings.Repeat("x", 1000), i))
	}
	full, limit := errors.New("full"), 100<<10
	state := NewState(planOf(t, "spec.args[*]", ""), func(bytes int) error {
		if bytes > limit {
			return full
		}
		return nil
	})
	object := widget(t, "w", fmt.Sprintf(`{"args":[%s]}`, strings.Join(values, ",")))
	if err := state.Change(nil, object, 0); !errors.Is(err, full) {
		t.Errorf("a change for which there is no memory: %v", err)
	}
	if kept := state.counter.bytes; kept > limit+10<<10 {
		t.Errorf("the groups of the object need %d bytes, and there were %d", kept, limit)
	}
}
