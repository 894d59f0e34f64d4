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

// maskOf is what an expression reads of an object; nil if that is the whole object.
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

// reader notes what an expression reads.
type reader struct {
	paths []mask.Path
	whole bool // it reads the whole object
}

// scope has the variables that stand for parts of the object.
type scope map[string]*value

// value is what a variable stands for: what a path leads to.
type value struct {
	path mask.Path
	used bool
}

// read notes what a part of an expression reads. A chain of keys is read at its end: what
// is behind a key that is not known before is read with all there.
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

// readFold notes what is read by going through a list or a map. Where a chain leads there,
// of each element is read what its variable is used for: the last one, for with two of them
// the first one is a place or a key, and so may the only one be, of which nothing is read
// but whether it is there.
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

// without is a scope in which some names stand for something else.
func (s scope) without(names ...string) scope {
	within := maps.Clone(s)
	for _, name := range names {
		delete(within, name)
	}
	return within
}

// chainTo is the chain of keys that leads to a part of an expression; false if none does.
func (s scope) chainTo(part ast.Expr) (mask.Path, bool) {
	switch part.Kind() {
	case ast.IdentKind:
		return s.named(part.AsIdent())
	case ast.SelectKind:
		return s.behind(part.AsSelect().Operand(), part.AsSelect().FieldName())
	case ast.CallKind:
		call := part.AsCall()
		if call.FunctionName() == "dyn" && len(call.Args()) == 1 { // as ranges are: see loosen
			return s.chainTo(call.Args()[0])
		}
		if key, ok := keyOf(call); ok {
			return s.behind(call.Args()[0], key)
		}
	}
	return nil, false
}

// named is what a name stands for. With a dot before it, it is that of the object, whatever
// stands for it here.
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

func (s scope) behind(operand ast.Expr, key string) (mask.Path, bool) {
	chain, ok := s.chainTo(operand)
	return append(slices.Clone(chain), mask.Step{Name: key}), ok
}

// keyOf is the key of a call that takes a value out of a map by a key that is known.
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
