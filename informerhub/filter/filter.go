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
