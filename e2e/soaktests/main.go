// Soaktests prints the tests below e2e that depend on SOAK, as a pattern for go test -run. `make soak` runs
// them.
//
// A test depends on SOAK if it calls one of the functions of e2e/kit/soak.go, itself or by functions of its
// package: it is skipped without SOAK, or is shorter. No list has to be kept, because the tests say it.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readsSoak are the functions of e2e/kit/soak.go.
var readsSoak = []string{"kit.SoakFor", "kit.SoakOnly", "kit.Rounds"}

func main() {
	tests, err := soakTests("e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, "soaktests:", err)
		os.Exit(1)
	}
	fmt.Printf("^(%s)$\n", strings.Join(tests, "|"))
}

// soakTests returns the names of the tests below a folder that depend on SOAK, in their order.
func soakTests(folder string) (tests []string, err error) {
	packages, err := callsInTests(folder)
	if err != nil {
		return nil, err
	}
	for _, calls := range packages {
		for name := range calls {
			if strings.HasPrefix(name, "Test") && calls.reach(name, readsSoak) {
				tests = append(tests, name)
			}
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests), nil
}

// calls are the names of the functions that each function and method of a package calls. Those of
// another package have its name before theirs.
type calls map[string][]string

// callsInTests returns the calls in the tests below a folder, by their packages.
func callsInTests(below string) (map[string]calls, error) {
	found := map[string]calls{}
	err := filepath.WalkDir(below, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.Dir(name)
		if found[folder] == nil {
			found[folder] = calls{}
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				found[folder][function.Name.Name] = append(found[folder][function.Name.Name], calledIn(function)...)
			}
		}
		return nil
	})
	return found, err
}

// calledIn returns the functions that a function calls. A method has its own name only.
func calledIn(function *ast.FuncDecl) (names []string) {
	ast.Inspect(function, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch called := call.Fun.(type) {
		case *ast.Ident:
			names = append(names, called.Name)
		case *ast.SelectorExpr:
			names = append(names, called.Sel.Name)
			if owner, ok := called.X.(*ast.Ident); ok {
				names = append(names, owner.Name+"."+called.Sel.Name)
			}
		}
		return true
	})
	return names
}

// reach reports whether a function calls one of the others, itself or by functions of its package.
func (c calls) reach(name string, others []string) bool {
	seen := map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if slices.Contains(others, name) || seen[name] {
			return !seen[name]
		}
		seen[name] = true
		return slices.ContainsFunc(c[name], visit)
	}
	return visit(name)
}
