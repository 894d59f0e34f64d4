package filter

import (
	"github.com/google/cel-go/common/ast"
)

// loosen hides the types of comprehension variables from the checker. The fields of the object have
// no known types, so little is lost. With types, those of [1].map(x, {x: x}).map(x, {x: x}) double
// at each step, so a caller could make the checker run arbitrarily long.
func loosen(parsed *ast.AST) {
	loosener := loosener{ast.NewExprFactory(), parsed.SourceInfo(), ast.MaxID(parsed)}
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(loosener.loosen))
}

type loosener struct {
	ast.ExprFactory
	info *ast.SourceInfo
	last int64 // the highest id of a part
}

func (l *loosener) loosen(part ast.Expr) {
	if part.Kind() != ast.ComprehensionKind {
		return
	}
	fold := part.AsComprehension()
	part.SetKindCase(l.NewComprehensionTwoVar(part.ID(), l.dyn(fold.IterRange()), fold.IterVar(), fold.IterVar2(),
		fold.AccuVar(), l.dyn(fold.AccuInit()), fold.LoopCondition(), fold.LoopStep(), fold.Result()))
}

// dyn wraps a part so that its type is hidden. Literals keep their types: these are small, and the
// comprehensions' own steps need them.
func (l *loosener) dyn(part ast.Expr) ast.Expr {
	switch part.Kind() {
	case ast.CallKind, ast.ComprehensionKind, ast.IdentKind, ast.SelectKind:
	case ast.ListKind:
		if part.AsList().Size() == 0 {
			return part
		}
	case ast.MapKind:
		if part.AsMap().Size() == 0 {
			return part
		}
	default:
		return part
	}
	l.last++
	if offsets, ok := l.info.GetOffsetRange(part.ID()); ok {
		l.info.SetOffsetRange(l.last, offsets)
	}
	return l.NewCall(l.last, "dyn", part)
}
