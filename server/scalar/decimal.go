package scalar

import (
	"math"

	"github.com/cockroachdb/apd/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Decimal is an exact decimal number. Decimals are never changed. The zero value is 0.
//
// Parse bounds the digits and exponents of numbers, so that a Decimal, and a sum of any number of
// them, has less than one KiB.
type Decimal struct {
	number *apd.Decimal // never changed; nil for 0
}

// exactly computes without rounding.
var exactly = apd.BaseContext.WithPrecision(0)

// parseDecimal parses a JSON number with a small exponent; see hasSmallExponent. It returns false for
// other texts.
func parseDecimal(text string) (Decimal, bool) {
	number, _, err := exactly.NewFromString(text)
	if err != nil || number.Form != apd.Finite {
		return Decimal{}, false
	}
	return Decimal{number}, true
}

func decimalOfInteger(value int64) Decimal {
	if value == 0 {
		return Decimal{}
	}
	return Decimal{apd.New(value, 0)}
}

func decimalOfQuantity(quantity resource.Quantity) Decimal {
	decimal := quantity.AsDec()
	coefficient := new(apd.BigInt).SetMathBigInt(decimal.UnscaledBig())
	return Decimal{apd.NewWithBigInt(coefficient, -int32(decimal.Scale()))}
}

func (d Decimal) isZero() bool { return d.number == nil || d.number.IsZero() }

// value returns the number. The caller must not change it.
func (d Decimal) value() *apd.Decimal {
	if d.number == nil {
		return &apd.Decimal{}
	}
	return d.number
}

// Plus returns the sum of two numbers.
func (d Decimal) Plus(other Decimal) Decimal {
	switch {
	case d.isZero():
		return other
	case other.isZero():
		return d
	}
	sum := new(apd.Decimal)
	must(exactly.Add(sum, d.number, other.number))
	return Decimal{sum}
}

// Negated returns the number with the other sign.
func (d Decimal) Negated() Decimal {
	if d.isZero() {
		return d
	}
	return Decimal{new(apd.Decimal).Neg(d.number)}
}

// Compare orders numbers.
func (d Decimal) Compare(other Decimal) int { return d.value().Cmp(other.value()) }

const (
	// quotientDigits is the number of digits of a quotient after the decimal point.
	quotientDigits = 20
	// guardDigits is the number of digits with which a quotient is computed in addition.
	guardDigits = 20
)

// Over returns the number divided by n, which is greater than 0: rounded to 20 digits after the
// decimal point, half away from zero, and rounded to a double.
func (d Decimal) Over(n int64) (quotient Decimal, rounded float64) {
	before := max(0, d.value().NumDigits()+int64(d.value().Exponent)) // digits before the decimal point, at most
	precise := apd.BaseContext.WithPrecision(uint32(before) + quotientDigits + guardDigits)
	precise.Rounding = apd.Round05Up // a digit that is rounded again is not rounded to a half
	computed := new(apd.Decimal)
	must(precise.Quo(computed, d.value(), apd.New(n, 0)))
	precise.Rounding = apd.RoundHalfUp
	result := new(apd.Decimal)
	must(precise.Quantize(result, computed, -quotientDigits))
	return Decimal{result}, Decimal{computed}.Float64()
}

// Float64 returns the nearest double; the largest one for a number that is too large for a double,
// because JSON has no infinite numbers.
func (d Decimal) Float64() float64 {
	value, _ := d.value().Float64()
	return finite(value)
}

func finite(value float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, value)) }

// String returns the number with all of its digits, without an exponent and without unneeded zeros.
func (d Decimal) String() string {
	if d.isZero() {
		return "0"
	}
	reduced, _ := new(apd.Decimal).Reduce(d.number)
	return reduced.Text('f')
}

// Bytes estimates the memory of the number in addition to the Decimal itself.
func (d Decimal) Bytes() int {
	if d.number == nil {
		return 0
	}
	return int(d.number.Size())
}

// Digits estimates the length of the result of String.
func (d Decimal) Digits() int {
	exponent := int(d.value().Exponent)
	return int(d.value().NumDigits()) + max(exponent, -exponent) + 2
}

// must panics at an error. Numbers with the digits and exponents that Parse allows cause none.
func must(_ apd.Condition, err error) {
	if err != nil {
		panic(err)
	}
}
