package filter

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// hostile are expressions that are designed to cost as much as possible: to parse, check, plan, or
// evaluate.
var hostile = map[string]string{
	"parentheses":          strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000),
	"brackets":             strings.Repeat("[", 8000),
	"lists in lists":       strings.Repeat("[", 90) + strings.Repeat("]", 90) + " == []",
	"negations":            strings.Repeat("!", 10000) + "true",
	"signs":                strings.Repeat("-", 10000) + "1 == 1",
	"alternatives":         "true" + strings.Repeat("||true", 2700),
	"conditions":           "object.a" + strings.Repeat("&&object.a", 1400),
	"choices":              strings.Repeat("true?", 1500) + "true" + strings.Repeat(":true", 1500),
	"sums":                 "1" + strings.Repeat("+1", 8000) + " > 0",
	"keys":                 "object" + strings.Repeat(".a", 8000),
	"errors":               strings.Repeat("a ", 8000),
	"unknown names":        "x" + strings.Repeat("+x", 90),
	"elements":             "[" + strings.Repeat("1,", 8000) + "1].size() > 1",
	"members":              "{" + strings.Repeat("'a':1,", 2500) + "'b':1}.size() > 1",
	"a chain of macros":    "[[1]]" + strings.Repeat(".map(x, x)", 1500) + ".size() == 1",
	"loops in loops":       strings.Repeat("[1].all(x, ", 90) + "true" + strings.Repeat(")", 90),
	"copied targets":       "object.?a" + strings.Repeat(".optMap(x, x)", maxCopies) + ".orValue(1) == 1",
	"too many copies":      "object.?a" + strings.Repeat(".optMap(x, x)", 30) + ".orValue(1) == 1",
	"copies spelt apart":   "object.?a" + strings.Repeat(".\noptFlatMap (x, x)", 30) + ".orValue(1) == 1",
	"types that double":    "[1]" + strings.Repeat(".map(x, {x: x})", 40) + ".all(x, x == x)",
	"types within options": "optional.of(1)" + strings.Repeat(".optMap(x, {x: {x: {x: {x: x}}}})", 6) + ".hasValue()",

	"strings that double": "['aaaaaaaaaa']" + strings.Repeat(".map(x, x + x)", 60) + ".all(x, x == x)",
	"strings replaced":    "['aaaaaaaaaa']" + strings.Repeat(".map(x, x.replace('a', x))", 20) + ".all(x, x == x)",
	"strings searched":    "('" + strings.Repeat("a", 4000) + "b').contains('" + strings.Repeat("a", 2000) + "c')",
	"many digits":         "'%.999999999f'.format([1.0]) == ''",
	"a great exponent":    "quantity('1e999999999').isLessThan(quantity('1'))",
	"a small exponent":    "isQuantity('1e-999999999')",
	"a long range":        "lists.range(1000000000).size() == 1",
	"a range not known":   "lists.range(int(dyn('1000000000'))).size() == 1",
	"loops":               "lists.range(100).all(a, lists.range(100).all(b, lists.range(100).all(c, a + b + c >= 0)))",
	"a long loop":         "lists.range(9999).map(a, [a, a, a]).map(a, a).size() == 3000",
	"entries":             "lists.range(5000).transformMapEntry(i, v, {string(v): v}).size() == 1000",

	"many patterns":     "object.a.matches('a{1,1000}')" + strings.Repeat("||object.a.matches('a{1,1000}')", 500),
	"the most patterns": "object.a.matches('a{1,1000}')" + strings.Repeat("||object.a.matches('a{1,1000}')", 3),
	"a large pattern":   "'a'.matches('" + strings.Repeat("(a{1000}|b{1000})", 900) + "')",
	"nested repetition": "'aaa'.matches('((a{30}){30}){30}')",
	"a slow pattern":    "'" + strings.Repeat("x", 1000) + "'.matches('" + strings.Repeat("(x+x+)+", 1000) + "y')",
	"a pattern of parts": "[('a{1000}|' + 'b{1000}|')]" + strings.Repeat(".map(x, x + x)", 9) +
		".all(p, 'aaa'.matches(p + 'c'))",
}

// init adds expressions that process a list of 2^40 elements, and one that is nested 40 deep in
// lists of two.
func init() {
	wide, deep := strings.Repeat(".map(x, x + x)", 40), strings.Repeat(".map(x, [x, x])", 40)
	for _, use := range []string{
		"x == x", "2 in x", "x.flatten() == []", "x.reverse() == []", "x.slice(0, 1000000000) == []", "x.sort() == []",
		"x.sum() == 3", "x.distinct() == x", "sets.contains(x, [2])", "x.sortBy(y, y) == x", "x.isSorted()",
		"x.indexOf(2) == 1", "x.includes(2)", "'%s'.format([x]) == ''", "x.map(y, y) == x", "x.transformMap(i, y, y) == {}",
		"optional.of(x) == optional.of(x)", "{'a': x} == {'a': x}", "size(x) == 1",
	} {
		hostile["of a wide list: "+use] = "[[1]]" + wide + ".all(x, " + use + ")"
		hostile["of a deep list: "+use] = "[[1]]" + deep + ".all(x, " + use + ")"
	}
	for _, use := range []string{"x.join() == 'a'", "x.join('bbbbbbbbbb') == 'a'"} {
		hostile["of a wide list: "+use] = "[['a']]" + wide + ".all(x, " + use + ")"
	}
}

// maxAllocated bounds the allocations of an expression, from its text to its result.
const maxAllocated = 256 << 20

// TestFilter_HostileExpressionsStayWithinLimits would not end, or would run out of memory, if one
// of the expressions cost as much as designed.
func TestFilter_HostileExpressionsStayWithinLimits(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			f, err := Compile(text)
			if err == nil {
				var budget Budget
				_, err = f.Matches([]byte(web), &budget)
				if budget.spent > 3*maxObjectCost {
					t.Errorf("cost %d for one object", budget.spent)
				}
			}
			if err != nil && len(err.Error()) > 2*maxIssues*maxIssueBytes {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if grown := allocated() - before; grown > maxAllocated {
				t.Errorf("allocated %d MiB", grown>>20)
			}
		})
	}
}

// maxRetained bounds the memory of a compiled expression, which a stream keeps until it ends.
const maxRetained = 4 << 20

func TestCompile_RetainsLittleMemory(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			before := retained()
			f, err := Compile(text)
			if grown := retained() - before; err == nil && grown > maxRetained {
				t.Errorf("retains %d KiB", grown>>10)
			}
			runtime.KeepAlive(f)
		})
	}
}

// retained returns the bytes of the objects in use.
func retained() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// TestFilter_WorkOfPatternsIsBounded has regular expressions that are costly to parse: in the expression, and in the
// object. It measures the work by what it allocates.
func TestFilter_WorkOfPatternsIsBounded(t *testing.T) {
	const most = 32 << 20
	notConstant, err := Compile("object.a.matches(object.b)")
	if err != nil {
		t.Fatal(err)
	}
	for name, pattern := range map[string]func(times int) string{
		"classes in a class":      func(times int) string { return "[" + strings.Repeat(`\\pL`, times) + "]" },
		"classes not in a class":  func(times int) string { return "[^" + strings.Repeat(`\\PL`, times) + "]" },
		"a choice of classes":     func(times int) string { return "x" + strings.Repeat(`|\\PL`, times) },
		"a sequence of classes":   func(times int) string { return strings.Repeat(`\\pL`, times) },
		"a long sequence of text": func(times int) string { return strings.Repeat(`(a|b)`, times) },
	} {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			_, _ = Compile("object.a.matches('" + pattern(700) + "')")
			if grown := allocated() - before; grown > most {
				t.Errorf("compiling allocates %d MiB", grown>>20)
			}
			object := []byte(`{"a":"x","b":"` + pattern(100_000) + `"}`)
			before = allocated()
			if _, err := notConstant.Matches(object, nil); !errors.Is(err, ErrTooCostly) {
				t.Errorf("a pattern of the object that costs too much: %v", err)
			}
			if grown := allocated() - before; grown > most {
				t.Errorf("evaluating allocates %d MiB", grown>>20)
			}
		})
	}
	if _, err := Compile(`object.a.matches('` + strings.Repeat(`\\p{Greek}`, maxClasses) + `')`); err != nil {
		t.Errorf("%d classes: %v", maxClasses, err)
	}
	split := `object.a.matches('\\p{Greek}')` + strings.Repeat(`||object.a.matches('\\p{Greek}')`, maxClasses)
	if _, err := Compile(split); err == nil || !strings.Contains(err.Error(), "classes of Unicode") {
		t.Errorf("%d classes in several expressions: %v", maxClasses+1, err)
	}
}
