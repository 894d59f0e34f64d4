package filter

import (
	"math"
	"regexp"
	"strconv"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// estimator says what a call has cost: what it was weighed at, or else what Kubernetes
// says. Both leave little to cel-go, which knows calls by their types: what is in the
// object has none, and cel-go takes calls on it to cost nothing.
type estimator struct {
	library.CostEstimator
	patterns patterns
}

// CallCost implements interpreter.ActualCostEstimator.
func (e estimator) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if !isLight[function] {
		work := e.patterns.work(function, args)
		return &work
	}
	if cost := e.CostEstimator.CallCost(function, overload, args, result); cost != nil {
		return cost
	}
	work := lightWork(function, args)
	return &work
}

func lightWork(function string, args []ref.Val) uint64 {
	switch function {
	case operators.Add, "size", "string", "bytes":
		return 1 + stringWeight(args[0]) + stringWeight(args[len(args)-1])
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, "startsWith", "endsWith":
		return 1 + min(stringWeight(args[0]), stringWeight(args[len(args)-1]))
	}
	return 1
}

// stringWeight is what it costs to go through a value if it is a string.
func stringWeight(value ref.Val) uint64 {
	switch value := value.(type) {
	case types.String:
		return uint64(len(value)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(value)) / bytesPerUnit
	}
	return 0
}

// bytesPerUnit is how many bytes of a string cost a unit.
const bytesPerUnit = 10

// isLight are the functions that take the same time, or as good as, however large
// their arguments are, or whose arguments are strings and which go through them once:
// those cannot have been made at less than they cost. All others are weighed.
var isLight = map[string]bool{
	operators.Add:           true, // lists are not copied
	operators.Subtract:      true,
	operators.Multiply:      true,
	operators.Divide:        true,
	operators.Modulo:        true,
	operators.Negate:        true,
	operators.LogicalNot:    true,
	operators.Less:          true,
	operators.LessEquals:    true,
	operators.Greater:       true,
	operators.GreaterEquals: true,
	// The comprehensions' own; it must see errors, which no other function does.
	operators.NotStrictlyFalse: true,

	"size": true, "type": true, "dyn": true,
	"optional.of": true, "optional.none": true, "hasValue": true, "value": true,
	"bool": true, "int": true, "uint": true, "double": true, "string": true, "bytes": true,
	"duration": true, "timestamp": true,
	"startsWith": true, "endsWith": true, "charAt": true, "substring": true, "trim": true,
	"lowerAscii": true, "upperAscii": true,
}

// isProduct are the functions that may go through one argument for each part of another.
var isProduct = map[string]bool{
	"contains": true, "indexOf": true, "lastIndexOf": true, "includes": true,
	"replace": true, "join": true,
	"sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// work is about what a call will cost, and what it will occupy.
func (p patterns) work(function string, args []ref.Val) uint64 {
	switch {
	case withPattern[function]:
		return p.searchWork(args)
	case function == operators.Equals || function == operators.NotEquals:
		return min(weigh(args[0]), weigh(args[1]))
	case function == "lists.range":
		size, _ := args[0].(types.Int)
		return add(1, uint64(max(size, 0)))
	case function == "split": // to one element for each byte
		return multiply(bytesPerUnit, weigh(args[0]))
	case function == "distinct":
		length := weigh(args[0])
		return multiply(length, length)
	case function == "quantity" || function == "isQuantity":
		return add(weigh(args[0]), exponent(args[0]))
	case function == "cel.@mapInsert":
		return add(1, weighAll(args[1:])) // the map is changed in its place
	case isProduct[function]:
		product := uint64(1)
		for _, arg := range args {
			product = multiply(product, weigh(arg))
		}
		return product
	}
	return add(1, weighAll(args))
}

// compileWork is what an instruction of a regular expression costs that is not known
// before.
const compileWork = 4

func (p patterns) searchWork(args []ref.Val) uint64 {
	pattern, ok := args[1].(types.String)
	if !ok {
		return 1 // the call will say so
	}
	weight, known := p.weight(string(pattern))
	work := multiply(weigh(args[0]), weight)
	if known {
		return work
	}
	return add(work, multiply(compileWork, add(weight, weigh(pattern))))
}

// withExponent is a number with an exponent, as quantities may have it.
var withExponent = regexp.MustCompile(`^[-+0-9.]*[eE][-+]?([0-9]+)$`)

// exponent is a quantity's. It is compared with another one by writing all digits out.
func exponent(quantity ref.Val) uint64 {
	text, _ := quantity.(types.String)
	found := withExponent.FindStringSubmatch(string(text))
	if found == nil {
		return 0
	}
	exponent, err := strconv.ParseUint(found[1], 10, 64)
	if err != nil || exponent > maxExponent {
		return math.MaxUint64
	}
	return exponent
}

func weighAll(values []ref.Val) uint64 {
	weight := uint64(0)
	for _, value := range values {
		weight = add(weight, weigh(value))
	}
	return weight
}

// weigh counts the parts of a value, and tenths of its strings' bytes. A value that
// is in another one many times counts as often; counting ends where it is too much
// for anything.
func weigh(value ref.Val) uint64 {
	s := scale{most: maxObjectCost + 1}
	s.add(value)
	return s.weight
}

type scale struct{ weight, most uint64 }

func (s *scale) add(value ref.Val) {
	s.weight++
	switch value := value.(type) {
	case types.String, types.Bytes:
		s.weight += stringWeight(value)
	case *types.Optional:
		if value.HasValue() {
			s.add(value.GetValue())
		}
	case traits.Mapper:
		s.addMap(value)
	case traits.Lister:
		s.addList(value)
	}
}

func (s *scale) addList(list traits.Lister) {
	size, ok := list.Size().(types.Int)
	if !ok || uint64(size) > s.most {
		s.weight = s.most // not to be counted one by one, or not at all
	}
	for i := types.Int(0); i < size && s.weight < s.most; i++ {
		s.add(list.Get(i))
	}
}

func (s *scale) addMap(values traits.Mapper) {
	for it := values.Iterator(); it.HasNext() == types.True && s.weight < s.most; {
		key := it.Next()
		s.add(key)
		s.add(values.Get(key))
	}
}
