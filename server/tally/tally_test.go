package tally

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/server/scalar"
)

func valuesIn(t interface{ Fatalf(string, ...any) }, texts ...string) (values []scalar.Value) {
	for _, text := range texts {
		value, ok := scalar.Parse([]byte(text))
		if !ok {
			t.Fatalf("%s is an object or a list", text)
		}
		values = append(values, value)
	}
	return values
}

func summaryOf(values []scalar.Value) (s Summary) {
	for _, value := range values {
		s.Add(value)
	}
	return s
}

// line returns a result in one line.
func line(t interface{ Fatalf(string, ...any) }, r Result) string {
	value, err := json.Marshal(r.Value.AsInterface())
	if err != nil {
		t.Fatalf("%v", err)
	}
	return fmt.Sprintf("%s %s of %d, omitted %d", value, r.Exact, r.Count, r.Omitted)
}

// long has as many bytes as are compared.
var long = strings.Repeat("x", 1024)

func TestSummary_HasTheDocumentedResults(t *testing.T) {
	for _, test := range []struct {
		values                 string
		sum, average, min, max string
	}{
		{``, "null  of 0, omitted 0", "null  of 0, omitted 0", "null  of 0, omitted 0", "null  of 0, omitted 0"},
		{`null`, "null  of 0, omitted 0", "null  of 0, omitted 0", "null  of 0, omitted 0", "null  of 0, omitted 0"},
		{`1 2 4`, "7 7 of 3, omitted 0", "2.3333333333333335 2.33333333333333333333 of 3, omitted 0", "1 1 of 3, omitted 0", "4 4 of 3, omitted 0"},
		{`0.1 0.2`, "0.3 0.3 of 2, omitted 0", "0.15 0.15 of 2, omitted 0", "0.1 0.1 of 2, omitted 0", "0.2 0.2 of 2, omitted 0"},
		{`"500m" "2" 1`, "3.5 3.5 of 3, omitted 0", "1.1666666666666667 1.16666666666666666667 of 3, omitted 0", `"500m" 0.5 of 3, omitted 0`, `"2" 2 of 3, omitted 0`},
		{`"12Gi" "12Gi" null`, "25769803776 25769803776 of 2, omitted 0", "12884901888 12884901888 of 2, omitted 0", `"12Gi" 12884901888 of 2, omitted 0`, `"12Gi" 12884901888 of 2, omitted 0`},
		{`"b" "a" true 5 null`, "5 5 of 1, omitted 3", "5 5 of 1, omitted 3", "true  of 4, omitted 0", `"b"  of 4, omitted 0`},
		{`"web-10" "web-2"`, "null  of 0, omitted 2", "null  of 0, omitted 2", `"web-2"  of 2, omitted 0`, `"web-10"  of 2, omitted 0`},
		{`"` + long + `b" "` + long + `a" 1`, "1 1 of 1, omitted 2", "1 1 of 1, omitted 2", "1 1 of 3, omitted 0", `"` + long + `"  of 3, omitted 0`},
		{`"` + long[1:] + `é" "` + long[1:] + `a"`, "null  of 0, omitted 2", "null  of 0, omitted 2", `"` + long[1:] + `"  of 2, omitted 0`, `"` + long[1:] + `a"  of 2, omitted 0`},
		{`1.7e308 1.7e308`, fmt.Sprint(1.7976931348623157e+308) + " 34" + strings.Repeat("0", 307) + " of 2, omitted 0", "1.7e+308 17" + strings.Repeat("0", 307) + " of 2, omitted 0", "1.7e+308 17" + strings.Repeat("0", 307) + " of 2, omitted 0", "1.7e+308 17" + strings.Repeat("0", 307) + " of 2, omitted 0"},
	} {
		t.Run(fmt.Sprintf("%.40s", test.values), func(t *testing.T) {
			s := summaryOf(valuesIn(t, strings.Fields(test.values)...))
			for function, want := range map[Function]string{Sum: test.sum, Average: test.average, Min: test.min, Max: test.max} {
				if got := line(t, s.Result(function)); got != want {
					t.Errorf("function %d: got %s, want %s", function, got, want)
				}
			}
		})
	}
}

// aValue generates JSON values. Equal values, and values that are equal but written differently, are
// likely.
var aValue = rapid.OneOf(
	rapid.SampledFrom([]string{
		"null", "true", "false", `"1"`, "1", `"1000m"`, "1.0", "0", "-0", `"500m"`, "0.5", `"1Gi"`, `"a"`, `"web-2"`, `"web-10"`, `""`,
		"1e300", "-1e300", "1e-300", "9223372036854775807", "-9223372036854775808", "9007199254740992", "9007199254740993",
	}),
	rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,3})?`),
	rapid.StringMatching(`"[0-9]{1,4}(m|Ki|Mi)?"`),
	rapid.SampledFrom([]string{`"` + long + `"`, `"` + long + `a"`, `"` + long + `b"`, `"` + long[1:] + `a"`}),
)

// recounted are the aggregates of values, computed with big.Rat.
type recounted struct {
	sum             *big.Rat
	numbers, others int64
	sorted          []scalar.Value
}

func recount(t *rapid.T, objects map[int][]scalar.Value) recounted {
	r := recounted{sum: new(big.Rat)}
	for _, values := range objects {
		for _, value := range values {
			if value.IsNull() {
				continue
			}
			r.sorted = append(r.sorted, value.Compared())
			number, ok := value.Number()
			if !ok {
				r.others++
				continue
			}
			rat, ok := new(big.Rat).SetString(number.String())
			if !ok {
				t.Fatalf("%q is not a number", number)
			}
			r.sum.Add(r.sum, rat)
			r.numbers++
		}
	}
	slices.SortFunc(r.sorted, compare)
	return r
}

func (r recounted) check(t *rapid.T, got Summary) {
	sum, average := got.Result(Sum), got.Result(Average)
	for _, result := range []Result{sum, average} {
		if result.Count != r.numbers || result.Omitted != r.others || (result.Exact == "") != (r.numbers == 0) {
			t.Fatalf("got %s, want %d numbers and %d others", line(t, result), r.numbers, r.others)
		}
	}
	if r.numbers > 0 {
		r.checkSum(t, sum)
		mean, _ := new(big.Rat).Quo(r.sum, new(big.Rat).SetInt64(r.numbers)).Float64()
		if average.Value.GetNumberValue() != mean {
			t.Fatalf("the average is %v, want %v", average.Value.GetNumberValue(), mean)
		}
	}
	if len(r.sorted) == 0 {
		r.sorted = []scalar.Value{{}}
	}
	for function, value := range map[Function]scalar.Value{Min: r.sorted[0], Max: r.sorted[len(r.sorted)-1]} {
		if result := got.Result(function); line(t, Result{Value: result.Value}) != line(t, Result{Value: value.Encode()}) || result.Count != r.numbers+r.others || result.Omitted != 0 {
			t.Fatalf("function %d: got %s, want %v", function, line(t, result), value.Encode())
		}
	}
}

func (r recounted) checkSum(t *rapid.T, sum Result) {
	exact, ok := new(big.Rat).SetString(sum.Exact)
	if !ok || exact.Cmp(r.sum) != 0 {
		t.Fatalf("the sum is %s, want %s", sum.Exact, r.sum)
	}
	rounded, _ := r.sum.Float64()
	if want := max(-math.MaxFloat64, min(math.MaxFloat64, rounded)); sum.Value.GetNumberValue() != want {
		t.Fatalf("the sum is rounded to %v, want %v", sum.Value.GetNumberValue(), want)
	}
}

func TestTally_EqualsARecountAfterEachChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live, growing := NewLive(Sum|Average|Min|Max), New(Sum|Average|Min|Max)
		objects, removed := map[int][]scalar.Value{}, false
		for i := range rapid.IntRange(1, 40).Draw(t, "changes") {
			if len(objects) > 0 && rapid.Bool().Draw(t, "removes") {
				keys := make([]int, 0, len(objects))
				for key := range objects {
					keys = append(keys, key)
				}
				slices.Sort(keys)
				key := rapid.SampledFrom(keys).Draw(t, "object")
				live.Remove(summaryOf(objects[key]))
				delete(objects, key)
				removed = true
			} else {
				objects[i] = valuesIn(t, rapid.SliceOfN(aValue, 0, 4).Draw(t, "values")...)
				live.Add(summaryOf(objects[i]))
				growing.Add(summaryOf(objects[i]))
			}
			want := recount(t, objects)
			want.check(t, live.Summary())
			if !removed {
				want.check(t, growing.Summary())
			}
		}
		for _, values := range objects {
			live.Remove(summaryOf(values))
		}
		empty := NewLive(Sum | Average | Min | Max)
		if live.Bytes() != empty.Bytes() || live.Summary() != empty.Summary() {
			t.Fatalf("without objects, %d bytes remain of %+v", live.Bytes()-empty.Bytes(), live.Summary())
		}
	})
}

func TestTally_KeepsOnlyWhatItsFunctionsNeed(t *testing.T) {
	for name, test := range map[string]struct {
		functions Function
		live      bool
		grows     bool // with the number of different values
	}{
		"a sum":             {Sum | Average, true, false},
		"a minimum":         {Min, true, true},
		"a maximum":         {Max, true, true},
		"a growing minimum": {Min, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			tally := New(test.functions)
			if test.live {
				tally = NewLive(test.functions)
			}
			for i := range 1_000 {
				tally.Add(summaryOf(valuesIn(t, fmt.Sprint(i))))
			}
			if got := tally.Bytes(); (got > 10_000) != test.grows {
				t.Errorf("1,000 values need %d bytes", got)
			}
		})
	}
}

func TestTally_EqualValuesAreKeptOnce(t *testing.T) {
	tally := NewLive(Min | Max)
	for range 1_000 {
		tally.Add(summaryOf(valuesIn(t, `"500m"`)))
	}
	if got := tally.Bytes(); got > 1_000 {
		t.Errorf("1,000 equal values need %d bytes", got)
	}
}

func BenchmarkTally_AddAndRemove(b *testing.B) {
	var objects []Summary
	for i := range 1_000 {
		objects = append(objects, summaryOf(valuesIn(b, fmt.Sprintf(`"%dm"`, i))))
	}
	for name, functions := range map[string]Function{"sum": Sum, "all": Sum | Min | Max} {
		b.Run(name, func(b *testing.B) {
			tally := NewLive(functions)
			for i := 0; b.Loop(); i++ {
				tally.Add(objects[i%len(objects)])
				tally.Remove(objects[i%len(objects)])
			}
		})
	}
}
