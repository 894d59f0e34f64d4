package tally

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kubeconnect/kubeconnect/server/scalar"
)

// Function is what is computed of values. Several functions are a set.
type Function uint8

// The functions; see AggregateFunction in read.proto.
const (
	Sum Function = 1 << iota
	Average
	Min
	Max
)

// Summary has the aggregates of some values. The zero value is of no values.
type Summary struct {
	sum             scalar.Decimal
	numbers, others int64        // how many values are numbers or quantities, and how many are neither
	min, max        scalar.Value // null if there are no values
}

// Add adds a value. Null is not counted. The minimum and the maximum have only the bytes of long strings
// that are compared.
func (s *Summary) Add(value scalar.Value) {
	if value.IsNull() {
		return
	}
	compared := value.Compared()
	one := Summary{others: 1, min: compared, max: compared}
	if number, ok := value.Number(); ok {
		one.sum, one.numbers, one.others = number, 1, 0
	}
	s.addNumbers(one, one.sum, 1)
	s.widen(one)
}

// widen adds the minimum and the maximum of another summary.
func (s *Summary) widen(other Summary) {
	if s.min.IsNull() || !other.min.IsNull() && compare(other.min, s.min) < 0 {
		s.min = other.min
	}
	if compare(other.max, s.max) > 0 {
		s.max = other.max
	}
}

// addNumbers adds a sum, and a multiple of the numbers of values of another summary.
func (s *Summary) addNumbers(other Summary, sum scalar.Decimal, times int64) {
	s.numbers += times * other.numbers
	s.others += times * other.others
	if s.sum = s.sum.Plus(sum); s.numbers == 0 {
		s.sum = scalar.Decimal{} // forgets the exponents of earlier numbers
	}
}

// compare is the order of MIN and MAX. It is total: equal values are sent as the same value.
func compare(a, b scalar.Value) int {
	if order := a.Compare(b); order != 0 {
		return order
	}
	return a.CompareIdentity(b)
}

// Result is the result of a function. Its fields are those of AggregateResult in read.proto.
type Result struct {
	Value          *structpb.Value
	Exact          string
	Count, Omitted int64
}

// Result returns the result of one function. The function must be one of those that the summary was
// made for.
func (s Summary) Result(function Function) Result {
	switch function {
	case Min:
		return s.ofValue(s.min)
	case Max:
		return s.ofValue(s.max)
	}
	result := Result{Value: structpb.NewNullValue(), Count: s.numbers, Omitted: s.others}
	switch {
	case s.numbers == 0:
	case function == Average:
		average, rounded := s.sum.Over(s.numbers)
		result.Value, result.Exact = structpb.NewNumberValue(rounded), average.String()
	default:
		result.Value, result.Exact = structpb.NewNumberValue(s.sum.Float64()), s.sum.String()
	}
	return result
}

func (s Summary) ofValue(value scalar.Value) Result {
	result := Result{Value: value.Encode(), Count: s.numbers + s.others}
	if number, ok := value.Number(); ok {
		result.Exact = number.String()
	}
	return result
}

// ResultBytes estimates the bytes of the result of one function in a message.
func (s Summary) ResultBytes(function Function) int {
	number := s.sum
	size := resultBytes
	switch function {
	case Min:
		number, _ = s.min.Number()
		size += s.min.EncodedBytes()
	case Max:
		number, _ = s.max.Number()
		size += s.max.EncodedBytes()
	}
	return size + number.Digits()
}

// resultBytes estimates the bytes of a result without its exact value and without a string.
const resultBytes = 20
