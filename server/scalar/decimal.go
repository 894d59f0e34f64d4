package scalar

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Decimal is an exact decimal number: a coefficient multiplied by a power of ten. Decimals are never
// changed. The zero value is 0.
//
// The numbers of Kubernetes objects, and sums of them, have coefficients that fit into an int64.
// Computing with these allocates no memory. Parse bounds the digits and exponents of all others, so
// that a Decimal, and a sum of any number of them, has less than one KiB.
type Decimal struct {
	small    int64    // the coefficient, if large is nil
	large    *big.Int // the coefficient, if it does not fit into an int64; never changed
	exponent int32
}

// decimalOf returns a number. It keeps the coefficient.
func decimalOf(coefficient *big.Int, exponent int32) Decimal {
	if coefficient.IsInt64() {
		return Decimal{small: coefficient.Int64(), exponent: exponent}
	}
	return Decimal{large: coefficient, exponent: exponent}
}

// parseDecimal parses a JSON number with a small exponent; see hasSmallExponent. It returns false for
// other texts.
func parseDecimal(text string) (Decimal, bool) {
	mantissa, exponent := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		exponent, _ = strconv.Atoi(strings.TrimPrefix(text[at+1:], "+"))
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	coefficient, ok := new(big.Int).SetString(integer+fraction, 10)
	if !ok {
		return Decimal{}, false
	}
	return decimalOf(coefficient, int32(exponent-len(fraction))), true
}

func decimalOfQuantity(quantity resource.Quantity) Decimal {
	decimal := quantity.AsDec()
	return decimalOf(decimal.UnscaledBig(), -int32(decimal.Scale()))
}

func (d Decimal) isZero() bool { return d.large == nil && d.small == 0 }

// coefficient returns the coefficient. The caller must not change it.
func (d Decimal) coefficient() *big.Int {
	if d.large != nil {
		return d.large
	}
	return big.NewInt(d.small)
}

// withExponent returns the same number with a smaller exponent.
func (d Decimal) withExponent(exponent int32) Decimal {
	power := int(d.exponent - exponent)
	if power == 0 {
		return d
	}
	if d.large == nil && power < len(smallPowers) && abs(d.small) <= math.MaxInt64/smallPowers[power] {
		return Decimal{small: d.small * smallPowers[power], exponent: exponent}
	}
	return decimalOf(new(big.Int).Mul(d.coefficient(), powerOfTen(power)), exponent)
}

// aligned returns two numbers with the same exponent.
func aligned(a, b Decimal) (_, _ Decimal) {
	exponent := min(a.exponent, b.exponent)
	return a.withExponent(exponent), b.withExponent(exponent)
}

// Plus returns the sum of two numbers.
func (d Decimal) Plus(other Decimal) Decimal {
	switch {
	case d.isZero():
		return other
	case other.isZero():
		return d
	}
	a, b := aligned(d, other)
	if a.large == nil && b.large == nil {
		if sum := a.small + b.small; (sum > a.small) == (b.small > 0) {
			return Decimal{small: sum, exponent: a.exponent}
		}
	}
	return decimalOf(new(big.Int).Add(a.coefficient(), b.coefficient()), a.exponent)
}

// Negated returns the number with the other sign.
func (d Decimal) Negated() Decimal {
	if d.large == nil && d.small != math.MinInt64 {
		return Decimal{small: -d.small, exponent: d.exponent}
	}
	return decimalOf(new(big.Int).Neg(d.coefficient()), d.exponent)
}

// Compare orders numbers.
func (d Decimal) Compare(other Decimal) int {
	a, b := aligned(d, other)
	if a.large == nil && b.large == nil {
		return cmp.Compare(a.small, b.small)
	}
	return a.coefficient().Cmp(b.coefficient())
}

// quotientDigits is the number of digits of a quotient after the decimal point.
const quotientDigits = 20

// Over returns the number divided by n, which is greater than 0: rounded to 20 digits after the
// decimal point, and rounded to a double.
func (d Decimal) Over(n int64) (quotient Decimal, rounded float64) {
	numerator, denominator := d.coefficient(), big.NewInt(n)
	if d.exponent < 0 {
		denominator = denominator.Mul(denominator, powerOfTen(int(-d.exponent)))
	} else {
		numerator = new(big.Int).Mul(numerator, powerOfTen(int(d.exponent)))
	}
	rounded, _ = new(big.Rat).SetFrac(numerator, denominator).Float64()
	return decimalOf(divideRounded(numerator, denominator), -quotientDigits), finite(rounded)
}

// divideRounded returns a quotient in units of its last digit, rounded half away from zero.
func divideRounded(numerator, denominator *big.Int) *big.Int {
	doubled := new(big.Int).Mul(new(big.Int).Abs(numerator), powerOfTen(quotientDigits))
	doubled.Lsh(doubled, 1).Add(doubled, denominator)
	doubled.Quo(doubled, new(big.Int).Lsh(denominator, 1))
	if numerator.Sign() < 0 {
		doubled.Neg(doubled)
	}
	return doubled
}

// Float64 returns the nearest double; the largest one for a number that is too large for a double,
// because JSON has no infinite numbers.
func (d Decimal) Float64() float64 {
	if d.large == nil && d.exponent == 0 {
		return float64(d.small)
	}
	value, _ := strconv.ParseFloat(d.coefficient().String()+"e"+strconv.Itoa(int(d.exponent)), 64)
	return finite(value)
}

func finite(value float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, value)) }

// String returns the number with all of its digits, without an exponent and without unneeded zeros.
func (d Decimal) String() string {
	digits := d.coefficient().String()
	if d.isZero() || d.exponent == 0 {
		return digits
	}
	if d.exponent > 0 {
		return digits + strings.Repeat("0", int(d.exponent))
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	places := int(-d.exponent)
	if missing := places + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - places
	return sign + strings.TrimSuffix(digits[:point]+"."+strings.TrimRight(digits[point:], "0"), ".")
}

// Bytes estimates the memory of the number in addition to the Decimal itself.
func (d Decimal) Bytes() int {
	if d.large == nil {
		return 0
	}
	return bigIntBytes + d.large.BitLen()/8
}

// Digits estimates the length of the result of String.
func (d Decimal) Digits() int {
	return int(float64(d.coefficient().BitLen())*math.Log10(2)) + int(max(d.exponent, -d.exponent)) + 2
}

// bigIntBytes is the memory of a big.Int without its digits.
const bigIntBytes = 40

func abs(value int64) int64 {
	if value == math.MinInt64 {
		return math.MaxInt64
	}
	return max(value, -value)
}

// smallPowers are the powers of ten that fit into an int64.
var smallPowers = func() (powers [19]int64) {
	powers[0] = 1
	for i := range powers[1:] {
		powers[i+1] = 10 * powers[i]
	}
	return powers
}()

func powerOfTen(power int) *big.Int {
	if power < len(smallPowers) {
		return big.NewInt(smallPowers[power])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil)
}
