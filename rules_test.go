// Package kubeconnect_test checks rules for the whole repository: which package may
// import which (docs/design.md, Packages), and what the documentation refers to.
package kubeconnect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module  = "github.com/kubeconnect/kubeconnect/"
	connect = "connectrpc.com/"
	kubecfg = "k8s.io/client-go/tools/clientcmd"
	metrics = "github.com/prometheus"
)

// rule forbids imports, and calls, to a part of the house.
type rule struct {
	rooms   []string // the folders it is about, with all below; "" is the whole house
	but     []string // folders below those that it is not about
	testing bool     // whether it is about test files too
	imports []string // what they may not import, with all below
	uses    []string // what they may not use, written as package.Name
	because string
}

var rules = []rule{
	{
		rooms: []string{"informerhub"}, testing: true,
		imports: []string{module + "auth", module + "server", module + "gen", module + "cmd", connect},
		because: "informerhub knows the cluster alone, so that it can be used and tested without callers or a protocol",
	},
	{
		rooms: []string{"auth"}, testing: true,
		imports: []string{module + "informerhub", module + "server", module + "gen", module + "cmd", connect},
		because: "auth knows callers alone, so that no read can be made past it",
	},
	{
		rooms: []string{""}, but: []string{"gen", "server", "e2e", "bench"}, testing: true,
		imports: []string{module + "gen"},
		because: "the API is joined to what is behind it in server alone",
	},
	{
		rooms: []string{""}, but: []string{"server", "cmd/server", "informerhub", "auth"}, testing: true,
		imports: []string{module + "informerhub", module + "auth"},
		because: "only the service itself is built of informerhub and auth; everyone else is a caller of the API",
	},
	{
		rooms: []string{""}, but: []string{"cmd/server", "server"}, testing: true,
		imports: []string{module + "server"},
		because: "only the binary is made of server",
	},
	{
		rooms: []string{"e2e", "clients", "bench"}, testing: true,
		imports: []string{module + "server", module + "informerhub", module + "auth", module + "cmd"},
		because: "tests from outside and clients reach the service over the network alone, as its callers do",
	},
	{
		rooms: []string{""}, but: []string{"cmd/server", "e2e", "bench"},
		imports: []string{kubecfg},
		uses:    []string{"rest.Config", "rest.InClusterConfig"},
		because: "only cmd/server builds a rest.Config, so that there is one place that says with whose rights the service acts",
	},
	{
		rooms: []string{""}, but: []string{"cmd/server", "server", "e2e"}, testing: true,
		imports: []string{metrics},
		because: "only server makes metrics, out of what the rooms below it know of themselves, and only cmd/server shows them",
	},
}

func TestEveryPackageKeepsToItsRoom(t *testing.T) {
	files := sourceFiles(t)
	if len(files) < 50 {
		t.Fatalf("found %d Go files only: this test looks in the wrong place", len(files))
	}
	for _, file := range files {
		for _, complaint := range check(t, file, nil) {
			t.Error(complaint)
		}
	}
}

func TestAForbiddenImportIsToldWithItsReason(t *testing.T) {
	for name, test := range map[string]struct {
		file, source string
		want         string // empty: allowed
	}{
		"informerhub uses auth": {
			file: "informerhub/a.go", source: `import "` + module + `auth"`,
			want: "without callers",
		},
		"informerhub uses connect in a test": {
			file: "informerhub/a_test.go", source: `import "connectrpc.com/connect"`,
			want: "without callers",
		},
		"auth uses informerhub": {
			file: "auth/a.go", source: `import hub "` + module + `informerhub"`,
			want: "auth knows callers alone",
		},
		"auth uses generated code in a package below": {
			file: "auth/tokens/a.go", source: `import "` + module + `gen/kubeconnect/v1"`,
			want: "auth knows callers alone",
		},
		"cmd/server uses generated code": {
			file: "cmd/server/a.go", source: `import "` + module + `gen/kubeconnect/v1"`,
			want: "in server alone",
		},
		"the service's test from outside uses the server": {
			file: "e2e/a_test.go", source: `import "` + module + `server"`,
			want: "over the network alone",
		},
		"a client uses informerhub": {
			file: "clients/web/a.go", source: `import "` + module + `informerhub"`,
			want: "over the network alone",
		},
		"informerhub makes metrics": {
			file: "informerhub/a.go", source: `import "github.com/prometheus/client_golang/prometheus"`,
			want: "only server makes metrics",
		},
		"auth makes metrics in a test": {
			file: "auth/a_test.go", source: `import "github.com/prometheus/common/expfmt"`,
			want: "only server makes metrics",
		},
		"server reads a kubeconfig": {
			file: "server/a.go", source: `import "` + kubecfg + `"`,
			want: "only cmd/server builds",
		},
		"server makes a configuration": {
			file: "server/a.go", source: `import "k8s.io/client-go/rest"; var c = &rest.Config{}`,
			want: "only cmd/server builds",
		},
		"auth takes the cluster's configuration": {
			file: "auth/a.go", source: `import r "k8s.io/client-go/rest"; var c, _ = r.InClusterConfig()`,
			want: "only cmd/server builds",
		},
		"server uses all three":               {file: "server/a.go", source: `import ("` + module + `auth"; "` + module + `informerhub"; _ "` + module + `gen/x")`},
		"server makes metrics":                {file: "server/a.go", source: `import "github.com/prometheus/client_golang/prometheus"`},
		"a name that begins like another":     {file: "auth/a.go", source: `import "` + module + `generic"`},
		"server is handed a configuration":    {file: "auth/a.go", source: `import "k8s.io/client-go/rest"; func f(*rest.Config) {}`},
		"a test of server makes one":          {file: "server/a_test.go", source: `import "k8s.io/client-go/rest"; var c = &rest.Config{}`},
		"cmd/server makes a configuration":    {file: "cmd/server/a.go", source: `import "k8s.io/client-go/rest"; var c, _ = rest.InClusterConfig()`},
		"the service's test from outside too": {file: "e2e/a.go", source: `import "` + kubecfg + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			complaints := strings.Join(check(t, test.file, "package a; "+test.source), "\n")
			switch {
			case test.want == "" && complaints != "":
				t.Errorf("complains: %s", complaints)
			case !strings.Contains(complaints, test.want):
				t.Errorf("complains %q, want %q in it", complaints, test.want)
			}
		})
	}
}

// sourceFiles are the Go files of the house, those of other modules in it too.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" ||
			name != "." && strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case path.Ext(name) == ".go":
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// check answers what a file does against the rules. source is its text; nil reads
// the file itself.
func check(t *testing.T, name string, source any) (complaints []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if !rule.isAbout(name) {
			continue
		}
		for _, what := range rule.broken(file) {
			complaints = append(complaints, name+" may not use "+what+": "+rule.because)
		}
	}
	return complaints
}

func (r rule) isAbout(name string) bool {
	within := func(folder string) bool { return folder == "" || strings.HasPrefix(name, folder+"/") }
	return slices.ContainsFunc(r.rooms, within) && !slices.ContainsFunc(r.but, within) &&
		(r.testing || !strings.HasSuffix(name, "_test.go"))
}

func (r rule) broken(file *ast.File) (what []string) {
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		for _, forbidden := range r.imports {
			if strings.HasPrefix(imported+"/", strings.TrimSuffix(forbidden, "/")+"/") {
				what = append(what, imported)
			}
		}
	}
	return append(what, r.usedIn(file)...)
}

// usedIn are the forbidden names of client-go's rest package that a file calls, or
// makes a value of. To name a type in a signature is no use of it.
func (r rule) usedIn(file *ast.File) (what []string) {
	local := nameOf(file, "k8s.io/client-go/rest")
	note := func(expression ast.Expr) {
		selected, ok := expression.(*ast.SelectorExpr)
		if !ok {
			return
		}
		owner, ok := selected.X.(*ast.Ident)
		if used := "rest." + selected.Sel.Name; ok && owner.Name == local && slices.Contains(r.uses, used) {
			what = append(what, used)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			note(node.Fun)
		case *ast.CompositeLit:
			note(node.Type)
		}
		return true
	})
	return what
}

// nameOf is the name that a file gives to a package; empty if it does not import it.
func nameOf(file *ast.File, imported string) string {
	for _, spec := range file.Imports {
		switch unquoted, _ := strconv.Unquote(spec.Path.Value); {
		case unquoted != imported:
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(imported)
		}
	}
	return ""
}
