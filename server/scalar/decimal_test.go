package scalar

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decimalIn(t interface{ Fatalf(string, ...any) }, text string) Decimal {
	number, ok := scalarIn(t, text).Number()
	if !ok {
		t.Fatalf("%s is not a number", text)
	}
	return number
}

func TestDecimal_IsWrittenWithAllDigits(t *testing.T) {
	for text, want := range map[string]string{
		`0`: "0", `-0`: "0", `0.0`: "0", `"0m"`: "0", `12`: "12", `-12`: "-12", `1.50`: "1.5", `-0.05`: "-0.05", `1e3`: "1000",
		`1.25e1`: "12.5", `"500m"`: "0.5", `"100n"`: "0.0000001", `"12Gi"`: "12884901888", `"1.5Ki"`: "1536", `"1e3"`: "1000",
		`"2k"`: "2000", `123456789012345678901234567890`: "123456789012345678901234567890",
		`9223372036854775807`: "9223372036854775807", `-9223372036854775808`: "-9223372036854775808",
		`1e-5`: "0.00001", `1e21`: "1" + strings.Repeat("0", 21),
	} {
		if got := decimalIn(t, text).String(); got != want {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
}

func TestValue_NumberIsOnlyOfNumbersAndQuantities(t *testing.T) {
	for _, text := range []string{`null`, `true`, `"a"`, `""`, `"1e2147483647"`, `1e999`} {
		if number, ok := scalarIn(t, text).Number(); ok {
			t.Errorf("%s is %s", text, number)
		}
	}
}

// aNumber generates JSON numbers and quantities. Numbers at the limits of int64 are likely.
var aNumber = rapid.OneOf(
	rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,9})?(e[+-]?[0-9]{1,3})?`),
	rapid.SampledFrom([]string{"9223372036854775807", "-9223372036854775808", "-9223372036854775807", "1e18", "1e300", "-1e300", "1e-300", "0.1", "0"}),
	rapid.StringMatching(`"[0-9]{1,5}(m|n|k|Ki|Gi|M)?"`),
).Filter(func(text string) bool {
	value, _ := Parse([]byte(text))
	_, ok := value.Number()
	return ok
})

// ratOf returns the number in a text, which is computed independently of Decimal.
func ratOf(t *rapid.T, d Decimal) *big.Rat {
	rat, ok := new(big.Rat).SetString(d.String())
	if !ok {
		t.Fatalf("%q is not a number", d.String())
	}
	return rat
}

func TestDecimal_ComputesAsRationalNumbersDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimalIn(t, aNumber.Draw(t, "a")), decimalIn(t, aNumber.Draw(t, "b"))
		x, y := ratOf(t, a), ratOf(t, b)
		if got, want := ratOf(t, a.Plus(b)), new(big.Rat).Add(x, y); got.Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s", a, b, got)
		}
		if got := a.Plus(b).Plus(b.Negated()); got.Compare(a) != 0 {
			t.Fatalf("%s + %s - %s = %s", a, b, b, got)
		}
		if a.Compare(b) != x.Cmp(y) {
			t.Fatalf("%s and %s compare as %d", a, b, a.Compare(b))
		}
		want, _ := x.Float64()
		if got := a.Float64(); got != finite(want) {
			t.Fatalf("%s is rounded to %v, want %v", a, got, want)
		}
	})
}

func TestDecimal_JSONNumbersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,9})?(e[+-]?[0-9]{1,2})?`).Draw(t, "number")
		want, _ := new(big.Rat).SetString(text)
		if got := ratOf(t, decimalIn(t, text)); got.Cmp(want) != 0 {
			t.Fatalf("%s is %s", text, got)
		}
	})
}

func TestDecimal_QuotientsAreRoundedHalfAwayFromZero(t *testing.T) {
	for _, test := range []struct {
		sum  string
		n    int64
		want string
	}{
		{`10`, 4, "2.5"},
		{`1`, 3, "0.33333333333333333333"},
		{`2`, 3, "0.66666666666666666667"},
		{`-2`, 3, "-0.66666666666666666667"},
		{`5e-21`, 1, "0.00000000000000000001"},
		{`-5e-21`, 1, "-0.00000000000000000001"},
		{`4e-21`, 1, "0"},
		{`-4e-21`, 1, "0"},
		{`3e30`, 3, "1" + strings.Repeat("0", 30)},
		{`"750m"`, 3, "0.25"},
	} {
		if got, _ := decimalIn(t, test.sum).Over(test.n); got.String() != test.want {
			t.Errorf("%s / %d = %s, want %s", test.sum, test.n, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, n := decimalIn(t, aNumber.Draw(t, "a")), rapid.Int64Range(1, 1_000_000).Draw(t, "n")
		exact := new(big.Rat).Quo(ratOf(t, a), new(big.Rat).SetInt64(n))
		quotient, rounded := a.Over(n)
		off := new(big.Rat).Sub(ratOf(t, quotient), exact)
		if unit, _ := new(big.Rat).SetString("5e-21"); off.Abs(off).Cmp(unit) > 0 {
			t.Fatalf("%s / %d = %s", a, n, quotient)
		}
		if want, _ := exact.Float64(); rounded != finite(want) {
			t.Fatalf("%s / %d is rounded to %v, want %v", a, n, rounded, want)
		}
	})
}

func TestDecimal_NumbersThatAreTooLargeAreFinite(t *testing.T) {
	large := decimalIn(t, `1.7e308`)
	if got := large.Plus(large).Float64(); got != math.MaxFloat64 {
		t.Errorf("got %v", got)
	}
	if got := large.Plus(large).Negated().Float64(); got != -math.MaxFloat64 {
		t.Errorf("got %v", got)
	}
	if _, got := large.Plus(large).Over(1); got != math.MaxFloat64 {
		t.Errorf("got %v", got)
	}
}

// TestDecimal_SumsOfExtremeNumbersAreSmall adds numbers with the most digits and the largest
// difference of exponents that are treated as numbers.
func TestDecimal_SumsOfExtremeNumbersAreSmall(t *testing.T) {
	var sum Decimal
	for range 10_000 {
		sum = sum.Plus(decimalIn(t, `9.9999999999999999999999999999999999999999999999999999999e307`)).Plus(decimalIn(t, `9.99999999999999999999999999999999999999999999999999999e-999`))
	}
	if got := sum.Bytes(); got > 1<<10 {
		t.Errorf("the sum has %d bytes", got)
	}
}
