package kubeconnect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestParallelSubtests_HaveTheirOwnDeadline forbids a parallel subtest to use the context of its parent.
// Such a subtest waits until a processor is free for it, while the deadline of the parent continues.
func TestParallelSubtests_HaveTheirOwnDeadline(t *testing.T) {
	subtests := 0
	for _, file := range writtenFiles(t, "_test.go") {
		if !strings.HasPrefix(file, "e2e/") {
			continue
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			subtest, ok := node.(*ast.FuncLit)
			if !ok || !isParallel(subtest) {
				return true
			}
			subtests++
			if used := contextFromOutside(subtest); used != nil {
				t.Errorf("%v: a parallel subtest uses the deadline of its parent, which continues while the subtest waits for a processor: "+
					"give it one of its own, by kit.Deadline", positions.Position(used.Pos()))
			}
			return true
		})
	}
	if subtests < 10 {
		t.Fatalf("found only %d parallel subtests: this test looks in the wrong folder", subtests)
	}
}

// isParallel reports whether a function itself calls t.Parallel.
func isParallel(function *ast.FuncLit) bool {
	for _, statement := range function.Body.List {
		if expression, ok := statement.(*ast.ExprStmt); ok {
			if call, ok := expression.X.(*ast.CallExpr); ok {
				if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Parallel" {
					return true
				}
			}
		}
	}
	return false
}

// contextFromOutside returns the first use of a variable ctx that is declared outside of a function; nil
// if there is none.
func contextFromOutside(function *ast.FuncLit) (used *ast.Ident) {
	ast.Inspect(function.Body, func(node ast.Node) bool {
		name, ok := node.(*ast.Ident)
		if ok && used == nil && name.Name == "ctx" && name.Obj != nil && (name.Obj.Pos() < function.Pos() || name.Obj.Pos() > function.End()) {
			used = name
		}
		return used == nil
	})
	return used
}
