package filter

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/kubeconnect/kubeconnect/informerhub/mask"
)

// maskOf is what an expression reads of an object; nil if that is the whole object.
func maskOf(root ast.Expr) *mask.Mask {
	reads := reader{}
	reads.read(root)
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
	whole bool // it reads the whole object, or it is not known what it reads
}

// read notes what a part of an expression reads. A chain of keys is read at its end: what
// is behind a list, or behind a key that is not known before, is read with all there.
func (r *reader) read(part ast.Expr) {
	if chain, ok := chainTo(part); ok {
		r.paths = append(r.paths, chain)
		r.whole = r.whole || len(chain) == 0
		return
	}
	if part.Kind() == ast.ComprehensionKind {
		fold := part.AsComprehension()
		names := []string{fold.IterVar(), fold.IterVar2(), fold.AccuVar()}
		r.whole = r.whole || slices.Contains(names, variable) // which means another thing there
	}
	for _, child := range ast.NavigateExpr(nil, part).Children() {
		r.read(child)
	}
}

// chainTo is the chain of keys that leads to a part of an expression; false if none does.
func chainTo(part ast.Expr) (mask.Path, bool) {
	switch part.Kind() {
	case ast.IdentKind:
		return mask.Path{}, strings.TrimPrefix(part.AsIdent(), ".") == variable
	case ast.SelectKind:
		return behind(part.AsSelect().Operand(), part.AsSelect().FieldName())
	case ast.CallKind:
		call := part.AsCall()
		if key, ok := keyOf(call); ok {
			return behind(call.Args()[0], key)
		}
	}
	return nil, false
}

func behind(operand ast.Expr, key string) (mask.Path, bool) {
	chain, ok := chainTo(operand)
	return append(chain, mask.Step{Name: key}), ok
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
