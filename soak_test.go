package kubeconnect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSoak_RunsEveryTestThatDependsOnIt compares the tests that `make soak` runs with those that read
// SOAK: they are skipped without it, or are shorter.
func TestSoak_RunsEveryTestThatDependsOnIt(t *testing.T) {
	t.Parallel()
	selected := faults(t)
	depend := 0
	for folder, calls := range callsInTests(t, "e2e/") {
		for name := range calls {
			if !strings.HasPrefix(name, "Test") || !calls.reach(name, []string{"kit.SoakOnly", "kit.SoakFor", "kit.Rounds"}) {
				continue
			}
			depend++
			if !selected.MatchString(name) {
				t.Errorf("%s: `make soak` does not run %s, which depends on SOAK: add it to FAULTS in the Makefile", folder, name)
			}
		}
	}
	if depend < 50 {
		t.Fatalf("only %d tests depend on SOAK: this test looks in the wrong folder", depend)
	}
}

// faults returns the pattern of the tests that `make soak` runs.
func faults(t *testing.T) *regexp.Regexp {
	t.Helper()
	defined := regexp.MustCompile(`(?m)^FAULTS = (.+)$`).FindStringSubmatch(readDoc(t, "Makefile"))
	if defined == nil {
		t.Fatal("the Makefile does not define FAULTS")
	}
	return regexp.MustCompile(strings.ReplaceAll(defined[1], "$$", "$"))
}

// calls are the names of the functions that each function and method of a package calls. Those of
// another package have its name before theirs.
type calls map[string][]string

// callsInTests returns the calls in the tests below a folder, by their folders.
func callsInTests(t *testing.T, below string) map[string]calls {
	t.Helper()
	found := map[string]calls{}
	for _, file := range writtenFiles(t, "_test.go") {
		if !strings.HasPrefix(file, below) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Dir(file)
		if found[folder] == nil {
			found[folder] = calls{}
		}
		for _, declaration := range parsed.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				found[folder][function.Name.Name] = append(found[folder][function.Name.Name], calledIn(function)...)
			}
		}
	}
	return found
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
