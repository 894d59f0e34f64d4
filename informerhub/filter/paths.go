package filter

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// maskOf returns the fields that an expression reads of an object; nil if it reads the whole
// object.
func maskOf(root ast.Expr) *mask.Mask {
	reads := reader{}
	reads.read(root, scope{variable: &value{}})
	if reads.whole {
		return nil
	}
	read, err := mask.Of(reads.paths...)
	if err != nil {
		return nil
	}
	return read.KeepingParents()
}

// reader collects the fields that an expression reads.
type reader struct {
	paths []mask.Path
	whole bool // it reads the whole object
}

// scope has the variables that stand for parts of the object.
type scope map[string]*value

// value is the part of the object that a variable stands for, as a path.
type value struct {
	path mask.Path
	used bool
}

// read collects the fields that a part of an expression reads. A chain of constant keys reads the
// value at its end. With a computed key, everything below the last constant key is read.
func (r *reader) read(part ast.Expr, in scope) {
	if chain, ok := in.chainTo(part); ok {
		r.add(chain)
		return
	}
	if part.Kind() == ast.ComprehensionKind {
		r.readFold(part.AsComprehension(), in)
		return
	}
	for _, child := range ast.NavigateExpr(nil, part).Children() {
		r.read(child, in)
	}
}

func (r *reader) add(path mask.Path) {
	r.paths = append(r.paths, path)
	r.whole = r.whole || len(path) == 0
}

// readFold collects the fields that a comprehension over a list or a map reads. If its range is a
// chain, only the fields that its variable uses are read of each element. That variable is the last
// one: with two variables, the first is an index or a key. A single variable may be a key, too.
// Then nothing of the elements is read but their existence.
func (r *reader) readFold(fold ast.ComprehensionExpr, in scope) {
	r.read(fold.AccuInit(), in)
	within := in.without(fold.IterVar(), fold.IterVar2(), fold.AccuVar())
	chain, ok := in.chainTo(fold.IterRange())
	if !ok {
		r.read(fold.IterRange(), in)
		r.readSteps(fold, within)
		return
	}
	element := &value{path: append(slices.Clone(chain), mask.Step{Each: true})}
	within[cmp.Or(fold.IterVar2(), fold.IterVar())] = element
	r.readSteps(fold, within)
	if !element.used {
		r.add(chain)
	}
}

func (r *reader) readSteps(fold ast.ComprehensionExpr, in scope) {
	for _, part := range []ast.Expr{fold.LoopCondition(), fold.LoopStep(), fold.Result()} {
		r.read(part, in)
	}
}

// without returns the scope with some names removed, because they stand for something else.
func (s scope) without(names ...string) scope {
	within := maps.Clone(s)
	for _, name := range names {
		delete(within, name)
	}
	return within
}

// chainTo returns the chain of keys that a part of an expression stands for; false if it is not a
// chain.
func (s scope) chainTo(part ast.Expr) (mask.Path, bool) {
	switch part.Kind() {
	case ast.IdentKind:
		return s.named(part.AsIdent())
	case ast.SelectKind:
		return s.index(part.AsSelect().Operand(), part.AsSelect().FieldName())
	case ast.CallKind:
		call := part.AsCall()
		if call.FunctionName() == "dyn" && len(call.Args()) == 1 { // of ranges: see loosen
			return s.chainTo(call.Args()[0])
		}
		if key, ok := keyOf(call); ok {
			return s.index(call.Args()[0], key)
		}
	}
	return nil, false
}

// named returns the path of a name. With a leading dot, the name is that of the object, whatever
// the scope has.
func (s scope) named(name string) (mask.Path, bool) {
	if name == "."+variable {
		return mask.Path{}, true
	}
	found := s[name]
	if found == nil {
		return nil, false
	}
	found.used = true
	return found.path, true
}

func (s scope) index(operand ast.Expr, key string) (mask.Path, bool) {
	chain, ok := s.chainTo(operand)
	return append(slices.Clone(chain), mask.Step{Name: key}), ok
}

// keyOf returns the key of a call that reads a map with a constant key.
func keyOf(call ast.CallExpr) (string, bool) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
	default:
		return "", false
	}
	if len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
		return "", false
	}
	key, ok := call.Args()[1].AsLiteral().(types.String)
	return string(key), ok
}
