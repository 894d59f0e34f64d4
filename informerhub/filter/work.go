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

// estimator returns the cost of a call: the estimate of this package, or else that of Kubernetes.
// Little is left to cel-go, which determines costs by types. The fields of the object have no
// static type, and cel-go counts no cost for calls on them.
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

// stringWeight returns the cost of reading a value if it is a string.
func stringWeight(value ref.Val) uint64 {
	switch value := value.(type) {
	case types.String:
		return uint64(len(value)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(value)) / bytesPerUnit
	}
	return 0
}

// bytesPerUnit is the number of bytes of a string that cost a unit.
const bytesPerUnit = 10

// isLight are the functions whose time does not, or hardly, depend on the size of their arguments,
// and those that read each of their string arguments once: creating such a string has cost at least
// as much. All others are estimated.
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
	// A function of comprehensions. It must receive errors, which no other function does.
	operators.NotStrictlyFalse: true,

	"size": true, "type": true, "dyn": true,
	"optional.of": true, "optional.none": true, "hasValue": true, "value": true,
	"bool": true, "int": true, "uint": true, "double": true, "string": true, "bytes": true,
	"duration": true, "timestamp": true,
	"startsWith": true, "endsWith": true, "charAt": true, "substring": true, "trim": true,
	"lowerAscii": true, "upperAscii": true,
}

// isProduct are the functions that may read one argument for each part of another.
var isProduct = map[string]bool{
	"contains": true, "indexOf": true, "lastIndexOf": true, "includes": true,
	"replace": true, "join": true,
	"sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// work returns the approximate cost of a call, in time and memory.
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
		return add(1, weighAll(args[1:])) // the map is changed in place
	case isProduct[function]:
		product := uint64(1)
		for _, arg := range args {
			product = multiply(product, weigh(arg))
		}
		return product
	}
	return add(1, weighAll(args))
}

// compileWork is the cost of an instruction of a regular expression that is not a constant.
const compileWork = 4

func (p patterns) searchWork(args []ref.Val) uint64 {
	pattern, ok := args[1].(types.String)
	if !ok {
		return 1 // the call will report the mistake
	}
	weight, known := p.weight(string(pattern))
	work := multiply(weigh(args[0]), weight)
	if known {
		return work
	}
	return add(work, multiply(compileWork, add(weight, weigh(pattern))))
}

// withExponent matches a number with an exponent, as quantities may have it.
var withExponent = regexp.MustCompile(`^[-+0-9.]*[eE][-+]?([0-9]+)$`)

// exponent returns a quantity's exponent. Quantities are compared by writing out all digits.
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

// weigh counts the parts of a value, and tenths of its strings' bytes. A value that occurs many
// times within another one is counted each time. Counting stops above maxObjectCost.
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
		s.weight = s.most // too large to be counted, or not countable
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
