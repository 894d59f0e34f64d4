package filter

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// guard estimates the cost of calls before they are executed. A call that would cost too much ends
// the evaluation, in the same way as cel-go's limit on the cost of executed calls.
type guard struct {
	implementations implementations
	patterns        patterns
}

// decorate is an interpreter.InterpretableDecoratorV2.
func (g guard) decorate(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := step.(interpreter.InterpretableCall)
	if !ok || isLight[call.Function()] || len(call.Args()) == 0 || isCheap(call) {
		return step, nil
	}
	args, function := call.Args(), call.Function()
	apply := g.implementations.find(call)
	if pattern, ok := constant(args, 1); ok && withPattern[function] {
		// cel-go compiles the pattern here, and replaces the call by its own with these arguments.
		args = []interpreter.InterpretableV2{searched{args[0], g.patterns, pattern}, args[1]}
		return interpreter.NewCall(call.ID(), function, call.OverloadID(), args, apply), nil
	}
	costed := func(args ...ref.Val) ref.Val {
		afford(g.patterns.work(function, args))
		return apply(args...)
	}
	return interpreter.NewCall(call.ID(), function, call.OverloadID(), args, costed), nil
}

// isCheap reports whether a call compares with a small constant of the expression.
func isCheap(call interpreter.InterpretableCall) bool {
	switch call.Function() {
	case operators.Equals, operators.NotEquals:
		left, isLeft := constant(call.Args(), 0)
		right, isRight := constant(call.Args(), 1)
		return isLeft && types.IsPrimitiveType(left) || isRight && types.IsPrimitiveType(right)
	case operators.In:
		_, isList := constant(call.Args(), 1)
		return isList && call.OverloadID() == overloads.InList // cel-go makes a set of it
	}
	return false
}

// constant returns an argument that is a constant of the expression.
func constant(args []interpreter.InterpretableV2, at int) (ref.Val, bool) {
	if at >= len(args) {
		return nil, false
	}
	if fixed, ok := args[at].(interpreter.InterpretableConst); ok {
		return fixed.Value(), true
	}
	return nil, false
}

// afford ends the evaluation if a call would cost too much.
func afford(work uint64) {
	if work > maxObjectCost {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: ErrTooCostly.Error()})
	}
}

// searched is the first argument of a search with a regular expression.
type searched struct {
	interpreter.InterpretableV2
	patterns patterns
	pattern  ref.Val
}

// Exec implements interpreter.InterpretableV2.
func (s searched) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := s.InterpretableV2.Exec(frame)
	if !types.IsUnknownOrError(value) {
		afford(s.patterns.searchWork([]ref.Val{value, s.pattern}))
	}
	return value
}

// Eval implements interpreter.Interpretable.
func (s searched) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

// implementations are the implementations of functions, by the names of their overloads and, for
// arguments whose types are unknown at compile time, by the names of the functions.
type implementations map[string]*functions.Overload

func implementationsIn(env *cel.Env) (implementations, error) {
	found := make(implementations)
	for _, function := range env.Functions() {
		bindings, err := function.Bindings()
		if err != nil {
			return nil, err
		}
		for _, binding := range bindings {
			found[binding.Operator] = binding
		}
	}
	return found, nil
}

// find returns the implementation of a call, as cel-go's planner and interpreter choose it.
func (i implementations) find(call interpreter.InterpretableCall) functions.FunctionOp {
	switch call.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	bound := i[call.OverloadID()]
	if bound == nil {
		bound = i[call.Function()]
	}
	apply := applied(bound, len(call.Args()))
	return func(args ...ref.Val) ref.Val {
		if apply != nil && (bound.OperandTrait == 0 || args[0].Type().HasTrait(bound.OperandTrait)) {
			return apply(args...)
		}
		if receiver, ok := args[0].(traits.Receiver); ok && args[0].Type().HasTrait(traits.ReceiverType) {
			return receiver.Receive(call.Function(), call.OverloadID(), args[1:])
		}
		return types.MaybeNoSuchOverloadErr(args[0])
	}
}

func applied(bound *functions.Overload, count int) functions.FunctionOp {
	switch {
	case bound == nil:
		return nil
	case count == 1 && bound.Unary != nil:
		return func(args ...ref.Val) ref.Val { return bound.Unary(args[0]) }
	case count == 2 && bound.Binary != nil:
		return func(args ...ref.Val) ref.Val { return bound.Binary(args[0], args[1]) }
	}
	return bound.Function
}
