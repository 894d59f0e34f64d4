package filter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

func TestCompiler_SharesAFilterWhileItIsUsed(t *testing.T) {
	var compiler Compiler
	compileText := func(text string) *Filter {
		t.Helper()
		f, err := compiler.Compile(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if none := compileText(""); none != nil {
		t.Error("an empty text is compiled:", none)
	}
	expression := func(i int) string { return fmt.Sprintf("object.a == '%0*d'", MaxBytes-100, i) }
	used, recent := compileText("object.used"), compileText("object.recent").Number()
	unused := compileText(expression(0)).Number()
	for i := range maxRecent / used.Bytes() {
		compileText(expression(i + 1))
		if again := compileText("object.recent"); again.Number() != recent {
			t.Fatal("a frequently used expression is compiled again")
		}
		if compiler.bytes > maxRecent {
			t.Fatalf("%d bytes of recent filters are kept", compiler.bytes)
		}
	}
	runtime.GC()
	runtime.GC()
	if again := compileText("object.used"); again != used {
		t.Error("a filter that is in use is compiled again")
	}
	if again := compileText(expression(0)); again.Number() == unused {
		t.Error("nothing is dropped")
	}
}

func TestCompiler_WorksInASlotOfItsCaller(t *testing.T) {
	var compiler Compiler
	processors := fairqueue.New(fairqueue.Limits{Total: 1})
	release, ok := processors.TryAcquire("other", 1)
	if !ok {
		t.Fatal("no slot is free")
	}
	defer release()
	ctx, leave := context.WithCancelCause(fairqueue.With(t.Context(), processors, "jane"))
	left := errors.New("left")
	leave(left)
	if f, err := compiler.Compile(ctx, "object.a"); f != nil || !errors.Is(err, left) {
		t.Errorf("without a slot the compiler returns %v, %v", f, err)
	}
}

// TestCompile_EndsBetweenSteps has a caller that leaves during a step.
func TestCompile_EndsBetweenSteps(t *testing.T) {
	left := errors.New("left")
	for leavesAt := 1; ; leavesAt++ {
		steps := 0
		f, err := compileInSteps("object.a == 1", func() error {
			if steps++; steps == leavesAt {
				return left
			}
			return nil
		})
		if err == nil && leavesAt == 4 {
			return // there are three steps
		}
		if f != nil || !errors.Is(err, left) {
			t.Fatalf("at step %d the result is %v, %v", leavesAt, f, err)
		}
	}
}

// largest are valid expressions of many forms that are as large as the limits allow.
func largest() map[string]string {
	texts := make(map[string]string)
	for _, unit := range []string{
		"object.a==1", "object.a.exists(x,x==1)", "object.a.exists(x,x.exists(y,y.exists(z,z==1)))",
		"object.a[0].b[1].c==1", "object.?a.?b.orValue(1)==1", "object.a.map(x,x.map(y,[y]))==[]",
		"'%s'.format([object.a])=='1'", "object.a.all(k,v,v==1)", "object.a in ['a','b','c']", "object.a=={'a':1}",
		"object.a.matches('a{1,99}')", "object" + strings.Repeat(".a", 50) + "==1",
	} {
		text := func(n int) string { return unit + strings.Repeat("||"+unit, n) }
		texts[unit] = text(sort.Search(MaxBytes/len(unit), func(n int) bool { _, err := Compile(text(n + 1)); return err != nil }))
	}
	return texts
}

// TestCompile_WorkIsBounded measures the work of compiling by what it allocates, which does not depend
// on the machine: checking types copies what is known of them at each call.
func TestCompile_WorkIsBounded(t *testing.T) {
	for unit, text := range largest() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Compile(text); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
			t.Errorf("%s, %d times: compiling allocates %d MiB", unit, strings.Count(text, unit), allocated>>20)
		}
	}
}

func TestFilter_BytesAreNotBelowTheHeap(t *testing.T) {
	texts := largest()
	texts["a short one"] = "object.a"
	texts["many patterns"] = "object.a.matches('a{1,1000}|b{1,1000}|c{1,1000}')"
	for unit, text := range texts {
		const copies = 4
		kept := make([]*Filter, copies)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range kept {
			var err error
			if kept[i], err = Compile(text); err != nil {
				t.Fatalf("%s: %v", unit, err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		heap := (int(after.HeapAlloc) - int(before.HeapAlloc)) / copies
		t.Logf("%s: %d bytes are kept, %d are estimated", unit, heap, kept[0].Bytes())
		if heap > kept[0].Bytes() {
			t.Errorf("%s: %d bytes are kept, and %d are estimated", unit, heap, kept[0].Bytes())
		}
		if kept[0].Bytes() > 8*heap+filterBytes {
			t.Errorf("%s: %d bytes are kept, and as many as %d are estimated", unit, heap, kept[0].Bytes())
		}
	}
}
