package filter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"sigs.k8s.io/json"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// Limits of one expression. Within them compiling takes at most some ten milliseconds of a processor,
// most of it for checking types, and a filter keeps at most 0.5 MB; with regular expressions up to their
// limit 1.8 MB.
const (
	// MaxBytes is the maximum length of an expression.
	MaxBytes = 4 << 10
	// maxDepth is the maximum depth of its parts.
	maxDepth = 100
	// maxNodes is the maximum number of its parts after macro expansion.
	maxNodes = 1 << 10
	// maxCopies bounds its uses of macros that duplicate their target.
	maxCopies = 6
	// maxRecoveries bounds how often the parser continues after an error.
	maxRecoveries = 8
	// maxPatternWeight is the approximate maximum number of instructions of all constant regular
	// expressions together, and of each one that is not constant.
	maxPatternWeight = 10_000
	// maxClasses is the maximum number of classes of Unicode in all constant regular expressions together, and
	// in each one that is not constant.
	maxClasses = 16
	// maxExponent is the maximum number of digits of a number such as quantity("1e3").
	maxExponent = 1000
	// maxPrecision is the maximum number of decimal places, as in format("%.3f").
	maxPrecision = 100
)

// Limits of the evaluation, in Kubernetes' units of cost: approximately the number of steps, and a
// tenth of the characters of processed strings. A unit takes 100 to 300 ns.
const (
	// maxObjectCost is the limit for one object: one or two milliseconds.
	maxObjectCost = 5_000
	// maxListCost is the limit for all objects of a list: two or three seconds.
	maxListCost = 10_000_000
)

// Filter is a compiled expression. It is immutable and may be shared.
type Filter struct {
	text    string
	program cel.Program
	mask    *mask.Mask
	number  uint64
	bytes   int
}

// compiled counts the filters since the start of the process.
var compiled atomic.Uint64

// Compile compiles an expression. Its errors are meant for the caller who wrote the expression, and
// contain the position of the mistake.
func Compile(text string) (*Filter, error) { return compileInSteps(text, func() error { return nil }) }

// compileInSteps compiles an expression. It calls between before each step, and ends with its error.
func compileInSteps(text string, between func() error) (*Filter, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	language, err := theLanguage()
	if err != nil {
		return nil, err
	}
	if err := between(); err != nil {
		return nil, err
	}
	parsed, nodes, err := language.parse(text)
	if err == nil {
		err = between()
	}
	if err != nil {
		return nil, err
	}
	checked, err := language.check(text, parsed)
	if err == nil {
		err = between()
	}
	if err != nil {
		return nil, err
	}
	if kind := checked.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it must be a condition, true or false, but is of type %s", kind)
	}
	root := checked.NativeRep().Expr()
	program, err := language.program(checked, patternsIn(root))
	if err != nil {
		return nil, err
	}
	return &Filter{
		text: text, program: program, mask: maskOf(root), number: compiled.Add(1),
		bytes: filterBytes + nodeBytes*nodes + textBytes*len(text) + instructionBytes*patternWeight(root),
	}, nil
}

// The estimated memory of a compiled filter: measured as what the heap keeps of filters of each form,
// and not below it. See TestFilter_BytesAreNotBelowTheHeap.
const (
	filterBytes      = 32 << 10
	nodeBytes        = 256
	textBytes        = 8
	instructionBytes = 128
)

// Bytes estimates the memory that the filter keeps, in bytes.
func (f *Filter) Bytes() int { return f.bytes }

// copying matches the macros that duplicate their target: a chain of them would double at each
// link, before anything can be counted.
var copying = regexp.MustCompile(`\bopt(Flat)?Map\b`)

func checkText(text string) error {
	switch {
	case len(text) > MaxBytes:
		return fmt.Errorf("it has %d bytes, and may have %d at most", len(text), MaxBytes)
	case strings.TrimSpace(text) == "":
		return errors.New("it is empty")
	case len(copying.FindAllStringIndex(text, maxCopies+1)) > maxCopies:
		return fmt.Errorf("it uses optMap and optFlatMap more than %d times", maxCopies)
	}
	return nil
}

// String returns the expression.
func (f *Filter) String() string { return f.text }

// Number returns the unique number of the filter.
func (f *Filter) Number() uint64 { return f.number }

// Mask returns the fields that the expression reads of an object: the masked object matches if and
// only if the whole object does. Nil is the whole object.
func (f *Filter) Mask() *mask.Mask { return f.mask }

// ErrTooCostly is the error of an expression that costs too much: for one object, which then does
// not match, or for all objects together.
var ErrTooCostly = errors.New("the expression costs too much")

// Matches reports whether the expression is true for an object, given as JSON. The error is the
// reason why the expression has no value for the object, which then does not match. The cost is
// deducted from the budget, unless the budget is nil.
func (f *Filter) Matches(text []byte, budget *Budget) (bool, error) {
	var object map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &object); err != nil {
		return false, err
	}
	value, details, err := f.program.Eval(map[string]any{variable: object})
	if cost := details.ActualCost(); cost != nil {
		budget.spend(*cost)
	}
	if err != nil {
		return false, explained(err)
	}
	matches, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("it is not a condition, but of type %s", value.Type().TypeName())
	}
	return bool(matches), nil
}

// explained returns a short error for an expression without a value.
func explained(err error) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Errorf("%w for one object", ErrTooCostly)
	}
	return errors.New(abbreviate(err.Error()))
}

// Budget bounds the cost of a filter for many objects together, at some seconds of a processor. The
// zero value is unspent; a nil budget is unlimited. It is not safe for concurrent use.
type Budget struct{ spent uint64 }

func (b *Budget) spend(cost uint64) {
	if b != nil {
		b.spent += cost
	}
}

// Left returns ErrTooCostly if the budget is spent.
func (b *Budget) Left() error {
	if b != nil && b.spent > maxListCost {
		return ErrTooCostly
	}
	return nil
}
