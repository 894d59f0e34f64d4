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

// Filter is an expression that has been understood. It is immutable and may be shared.
type Filter struct {
	text    string
	program cel.Program
	mask    *mask.Mask
	number  uint64
}

// compiled counts the filters that there have been.
var compiled atomic.Uint64

// Compile understands an expression, or says where it is malformed. The words are for
// the caller who wrote it.
func Compile(text string) (*Filter, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	language, err := theLanguage()
	if err != nil {
		return nil, err
	}
	checked, err := language.check(text)
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
	return &Filter{text: text, program: program, mask: maskOf(root), number: compiled.Add(1)}, nil
}

// copying are the macros that write what they are called on twice: a chain of them would
// double at each link, before anything can be counted.
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

// String is the expression.
func (f *Filter) String() string { return f.text }

// Number tells filters apart: no other one has it.
func (f *Filter) Number() uint64 { return f.number }

// Mask is what the expression reads of an object: what is under it matches if and only
// if the whole object does. Nil is the whole object.
func (f *Filter) Mask() *mask.Mask { return f.mask }

// ErrTooCostly says that an expression costs too much: on one object, which it does not
// match then, or for all together.
var ErrTooCostly = errors.New("the expression costs too much")

// Matches reports whether the expression is true for an object, given as JSON. An error
// says why it has no value: then the object does not match. What it costs is taken from
// the budget, if there is one.
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
		return false, fmt.Errorf("it is no condition, but of type %s", value.Type().TypeName())
	}
	return bool(matches), nil
}

// explained is why an expression has no value for an object, in a few words.
func explained(err error) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Errorf("%w for one object", ErrTooCostly)
	}
	return errors.New(short(err.Error()))
}
