// Package kubeconnect_test checks rules for the whole repository: the allowed imports of each
// package (docs/design.md, Packages), and the references of the documentation.
package kubeconnect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
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

// rule forbids imports and calls in a part of the repository.
type rule struct {
	folders []string // the folders that the rule applies to, with their subfolders; "" is all
	except  []string // subfolders that the rule does not apply to
	testing bool     // whether it applies to test files too
	imports []string // forbidden imports, with their subpackages
	exactly []string // forbidden imports, without their subpackages
	uses    []string // forbidden calls and values, written as package.Name
	because string
}

var rules = append(partsInOrder("server/edge", []string{
	"bounds", "callerrors", "memorylimit", "health", "call", "observe", "audit", "conditional", "origins", "streamlife", "gate",
}), []rule{
	{
		folders: []string{"informerhub"}, testing: true,
		imports: []string{module + "auth", module + "server", module + "gen", module + "cmd", connect},
		because: "informerhub knows only the cluster, so that it can be used and tested without callers and without a protocol",
	},
	{
		folders: []string{"informerhub/object"}, testing: true,
		exactly: []string{module + "informerhub"},
		imports: []string{module + "informerhub/diff", module + "informerhub/discovery"},
		because: "objects know nothing of the caches that contain them, and only their own methods use their fields",
	},
	{
		folders: []string{"informerhub/scopes"}, testing: true,
		imports: []string{module + "auth", module + "server", module + "gen"}, exactly: []string{module + "informerhub"},
		because: "what the service may read is decided without caches and callers",
	},
	{
		folders: []string{"informerhub/discovery"}, testing: true,
		exactly: []string{module + "informerhub"},
		imports: []string{module + "informerhub/diff", module + "informerhub/filter", module + "informerhub/mask"},
		because: "what the cluster serves is known without caches",
	},
	{
		folders: []string{
			"informerhub/diff", "informerhub/filter", "informerhub/mask", "informerhub/jsonscan", "informerhub/internal",
		}, testing: true,
		exactly: []string{module + "informerhub"},
		imports: []string{module + "informerhub/object", module + "informerhub/discovery"},
		because: "they work on bytes, and know neither objects nor caches",
	},
	{
		folders: []string{"auth"}, testing: true,
		imports: []string{module + "informerhub", module + "server", module + "gen", module + "cmd", connect},
		because: "auth knows only callers, so that no read can be made through it",
	},
	{
		folders: []string{"internal/ledger"}, testing: true,
		imports: []string{module + "informerhub", module + "auth", module + "server", module + "gen", module + "cmd", connect, metrics},
		because: "the ledger knows keys and bytes, so that whatever keeps memory can charge it",
	},
	{
		folders: []string{""}, except: []string{"gen", "server", "e2e", "bench", "docs"}, testing: true,
		imports: []string{module + "gen"},
		because: "only server connects the API with the packages that implement it",
	},
	{
		folders: []string{""}, except: []string{"server", "cmd/server", "informerhub", "auth"}, testing: true,
		imports: []string{module + "informerhub", module + "auth"},
		because: "only the service itself uses informerhub and auth; all others are callers of the API",
	},
	{
		folders: []string{""}, except: []string{"cmd/server", "server"}, testing: true,
		imports: []string{module + "server"},
		because: "only the binary uses server",
	},
	{
		folders: []string{"server/access", "server/budget", "server/counts", "server/edge", "server/encode", "server/follow", "server/internal", "server/joins", "server/kubeapi", "server/loglines", "server/logs", "server/reads", "server/scalar", "server/sorted", "server/streams", "server/tally", "server/target", "server/tokens", "server/writes"}, testing: true,
		exactly: []string{module + "server"},
		because: "server composes its parts, and no part knows it",
	},
	{
		folders: []string{"server/access", "server/budget", "server/edge", "server/target", "server/tokens"}, testing: true,
		imports: []string{module + "server/reads", module + "server/streams", module + "server/logs", module + "server/writes"},
		because: "what handlers share knows no handler",
	},
	{
		folders: []string{"server/reads", "server/writes"}, testing: true,
		imports: []string{module + "server/streams", module + "server/logs"},
		because: "streams and logs are built on reads, and writes on neither",
	},
	{
		folders: []string{"server/kubeapi"}, testing: true,
		imports: []string{module + "gen", module + "server/reads", module + "server/streams", module + "server/logs", module + "server/writes"},
		because: "Kubernetes' own API stands beside the handlers of RPCs, on the same parts",
	},
	{
		folders: []string{"server/streams"}, testing: true,
		imports: []string{module + "server/logs", module + "server/writes"},
		because: "logs follow pods by a watch, and a watch changes nothing",
	},
	{
		folders: []string{"server/access", "server/budget", "server/target", "server/tokens"}, testing: true,
		imports: []string{connect, metrics},
		because: "what handlers share is the same for every protocol",
	},
	{
		folders: []string{"server/encode"}, testing: true,
		imports: []string{module + "auth", module + "server/edge", module + "server/writes", connect, metrics},
		because: "encode knows objects and messages, and neither calls nor callers",
	},
	{
		folders: []string{"server/counts"}, testing: true,
		imports: []string{module + "auth", module + "server/edge", module + "server/follow", module + "server/writes", connect, metrics},
		because: "counts knows objects and messages, and neither calls nor callers",
	},
	{
		folders: []string{"server/tally"}, testing: true,
		imports: []string{module + "gen", module + "auth", module + "informerhub", module + "server/edge", module + "server/encode", connect, metrics},
		because: "tally computes with values, wherever they come from",
	},
	{
		folders: []string{"server/follow"}, testing: true,
		imports: []string{module + "gen", module + "auth", module + "server", connect, metrics},
		because: "follow knows objects and states, and neither calls nor callers",
	},
	{
		folders: []string{"server/sorted"}, testing: true,
		imports: []string{module + "gen", module + "auth", module + "server/edge", module + "server/encode", module + "server/follow", connect, metrics},
		because: "an order compares objects, whatever is done with them",
	},
	{
		folders: []string{"server/joins"}, testing: true,
		imports: []string{module + "gen", module + "auth", module + "server/edge", module + "server/writes", connect, metrics},
		because: "a join relates objects that a caller can read, and knows neither calls nor callers",
	},
	{
		folders: []string{"server/scalar"}, testing: true,
		imports: []string{module + "gen", module + "auth", module + "server", connect, metrics},
		because: "values are read from objects, whatever is done with them",
	},
	{
		folders: []string{"server/loglines"}, testing: true,
		imports: []string{module + "gen", module + "auth", module + "informerhub", module + "server/edge", module + "server/encode", module + "server/writes", connect, metrics},
		because: "logs are read in the same way for every caller and by whatever protocol",
	},
	{
		folders: []string{"server/edge"}, testing: true,
		imports: []string{module + "server/writes"},
		because: "edge is what every call passes, whatever the call does",
	},
	{
		folders: []string{"server/writes/change"}, testing: true,
		imports: []string{module + "gen", module + "server/edge", module + "server/encode", connect, metrics},
		because: "change makes changes by client-go only, and can be tested without RPCs",
	},
	{
		folders: []string{"cmd/server/config"},
		exactly: []string{module + "server"},
		imports: []string{module + "informerhub", module + "gen", module + "cmd/server/preflight", module + "cmd/server/serving", connect},
		because: "settings are read and validated, whatever they are used for",
	},
	{
		folders: []string{"cmd/server/logging"},
		imports: []string{module + "informerhub", module + "auth", module + "server", module + "gen", module + "cmd", connect, metrics},
		because: "every part of the binary can log by it",
	},
	{
		folders: []string{"cmd/server/serving"}, testing: true,
		exactly: []string{module + "server"},
		imports: []string{module + "informerhub", module + "gen", module + "cmd/server/config", module + "cmd/server/preflight", connect},
		because: "serving knows connections and requests, and neither settings nor calls",
	},
	{
		folders: []string{"e2e", "clients", "bench", "docs"}, testing: true,
		imports: []string{module + "server", module + "informerhub", module + "auth", module + "cmd"},
		because: "black-box tests and clients use the service over the network, as its callers do",
	},
	{
		folders: []string{""}, except: []string{"e2e", "bench", "auth"}, testing: true,
		imports: []string{module + "e2e"},
		because: "the service is tested from outside; only the tests of auth against a real API server share the harness",
	},
	{
		folders: []string{"auth"},
		imports: []string{module + "e2e"},
		because: "only tests use the harness of the tests",
	},
	{
		folders: []string{""}, except: []string{"internal/fakeapi", "server/internal"},
		imports: []string{module + "internal/fakeapi", module + "internal/faketime", module + "internal/testobjects", module + "cmd/server/internal/servertest"},
		because: "only tests use fakes",
	},
	{
		folders: []string{""}, except: []string{"cmd/server", "e2e", "bench", "internal/fakeapi", "server/internal/servertest"},
		imports: []string{kubecfg},
		uses:    []string{"rest.Config", "rest.InClusterConfig"},
		because: "only cmd/server builds a rest.Config, so that one place decides with which permissions the service acts",
	},
	{
		folders: []string{""}, except: []string{"cmd/server", "server", "e2e"}, testing: true,
		imports: []string{metrics},
		because: "only server defines metrics, from the statistics of informerhub and auth, and only cmd/server serves them",
	},
}...)

// partsInOrder returns the rules for the packages below a folder, each of which may import only packages before it.
func partsInOrder(folder string, parts []string) (rules []rule) {
	for i, part := range parts {
		later := rule{
			folders: []string{folder + "/" + part}, testing: true,
			exactly: []string{module + folder},
			because: "the packages of " + folder + " import each other in the order of its doc.go",
		}
		for _, other := range parts[i+1:] {
			later.imports = append(later.imports, module+folder+"/"+other)
		}
		rules = append(rules, later)
	}
	return rules
}

func TestImports_FollowThePackageRules(t *testing.T) {
	files := writtenFiles(t, ".go")
	if len(files) < 50 {
		t.Fatalf("found only %d Go files: this test looks in the wrong folder", len(files))
	}
	for _, file := range files {
		for _, violation := range check(t, file, nil) {
			t.Error(violation)
		}
	}
}

func TestImports_ViolationsNameTheReason(t *testing.T) {
	for name, test := range map[string]struct {
		file, source string
		want         string // empty: allowed
	}{
		"informerhub uses auth": {
			file: "informerhub/a.go", source: `import "` + module + `auth"`,
			want: "without callers",
		},
		"informerhub uses connect in a test": {
			file: "informerhub/a_test.go", source: `import "connectrpc.com/connect/v2"`,
			want: "without callers",
		},
		"an object uses its cache": {
			file: "informerhub/object/a_test.go", source: `import "` + module + `informerhub"`,
			want: "know nothing of the caches",
		},
		"discovery uses a cache": {
			file: "informerhub/discovery/a_test.go", source: `import "` + module + `informerhub"`,
			want: "without caches",
		},
		"an object uses discovery": {
			file: "informerhub/object/a.go", source: `import "` + module + `informerhub/discovery"`,
			want: "know nothing of the caches",
		},
		"a mask uses an object": {
			file: "informerhub/mask/a.go", source: `import "` + module + `informerhub/object"`,
			want: "work on bytes",
		},
		"a part of informerhub uses its cache": {
			file: "informerhub/internal/kubejson/a.go", source: `import "` + module + `informerhub"`,
			want: "work on bytes",
		},
		"auth uses informerhub": {
			file: "auth/a.go", source: `import hub "` + module + `informerhub"`,
			want: "auth knows only callers",
		},
		"auth uses generated code in a package below": {
			file: "auth/tokens/a.go", source: `import "` + module + `gen/kubeconnect/v1"`,
			want: "auth knows only callers",
		},
		"cmd/server uses generated code": {
			file: "cmd/server/a.go", source: `import "` + module + `gen/kubeconnect/v1"`,
			want: "only server connects",
		},
		"a part of server uses the handlers": {
			file: "server/encode/a_test.go", source: `import "` + module + `server"`,
			want: "no part knows it",
		},
		"encode uses connect": {
			file: "server/encode/a.go", source: `import "connectrpc.com/connect/v2"`,
			want: "neither calls nor callers",
		},
		"tally uses objects": {
			file: "server/tally/a.go", source: `import "` + module + `informerhub"`,
			want: "wherever they come from",
		},
		"counts uses followers": {
			file: "server/counts/a_test.go", source: `import "` + module + `server/follow"`,
			want: "neither calls nor callers",
		},
		"write uses generated code in a test": {
			file: "server/writes/change/a_test.go", source: `import "` + module + `gen/kubeconnect/v1"`,
			want: "by client-go only",
		},
		"loglines uses a caller": {
			file: "server/loglines/a.go", source: `import "` + module + `auth"`,
			want: "by whatever protocol",
		},
		"edge uses the handlers in a test": {
			file: "server/edge/a_test.go", source: `import "` + module + `server"`,
			want: "no part knows it",
		},
		"a call uses metrics": {
			file: "server/edge/call/a_test.go", source: `import "` + module + `server/edge/observe"`,
			want: "in the order of its doc.go",
		},
		"a gate uses the chain": {
			file: "server/edge/gate/a.go", source: `import "` + module + `server/edge"`,
			want: "in the order of its doc.go",
		},
		"Kubernetes' own API uses a handler": {
			file: "server/kubeapi/a.go", source: `import "` + module + `server/reads"`,
			want: "beside the handlers",
		},
		"edge uses write": {
			file: "server/edge/a.go", source: `import "` + module + `server/writes"`,
			want: "what every call passes",
		},
		"write uses connect": {
			file: "server/writes/change/a.go", source: `import "connectrpc.com/connect/v2"`,
			want: "by client-go only",
		},
		"the settings use the server of connections": {
			file: "cmd/server/config/a.go", source: `import "` + module + `cmd/server/serving"`,
			want: "whatever they are used for",
		},
		"the log uses a caller": {
			file: "cmd/server/logging/a.go", source: `import "` + module + `auth"`,
			want: "every part of the binary",
		},
		"connections use the settings in a test": {
			file: "cmd/server/serving/a_test.go", source: `import "` + module + `cmd/server/config"`,
			want: "neither settings nor calls",
		},
		"the service uses what its tests share": {
			file: "cmd/server/a.go", source: `import "` + module + `cmd/server/internal/servertest"`,
			want: "only tests",
		},
		"a black-box test uses the server": {
			file: "e2e/a_test.go", source: `import "` + module + `server"`,
			want: "over the network",
		},
		"informerhub uses the harness in a test": {
			file: "informerhub/a_test.go", source: `import "` + module + `e2e/harness"`,
			want: "tested from outside",
		},
		"auth uses the harness": {
			file: "auth/a.go", source: `import "` + module + `e2e/harness"`,
			want: "only tests use the harness",
		},
		"a client uses informerhub": {
			file: "clients/web/a.go", source: `import "` + module + `informerhub"`,
			want: "over the network",
		},
		"informerhub defines metrics": {
			file: "informerhub/a.go", source: `import "github.com/prometheus/client_golang/prometheus"`,
			want: "only server defines metrics",
		},
		"auth defines metrics in a test": {
			file: "auth/a_test.go", source: `import "github.com/prometheus/common/expfmt"`,
			want: "only server defines metrics",
		},
		"server uses a fake": {
			file: "server/a.go", source: `import "` + module + `internal/fakeapi"`,
			want: "only tests",
		},
		"server reads a kubeconfig": {
			file: "server/a.go", source: `import "` + kubecfg + `"`,
			want: "only cmd/server builds",
		},
		"server builds a configuration": {
			file: "server/a.go", source: `import "k8s.io/client-go/rest"; var c = &rest.Config{}`,
			want: "only cmd/server builds",
		},
		"auth builds the cluster's configuration": {
			file: "auth/a.go", source: `import r "k8s.io/client-go/rest"; var c, _ = r.InClusterConfig()`,
			want: "only cmd/server builds",
		},
		"server uses all three": {file: "server/a.go", source: `import ("` + module + `auth"; "` +
			module + `informerhub"; _ "` + module + `gen/x")`},
		"a gate uses metrics":                    {file: "server/edge/gate/a.go", source: `import "` + module + `server/edge/observe"`},
		"encode uses generated code":             {file: "server/encode/a.go", source: `import "` + module + `gen/kubeconnect/v1"`},
		"a handler uses a part of server":        {file: "server/a.go", source: `import "` + module + `server/encode"`},
		"discovery uses an object":               {file: "informerhub/discovery/a.go", source: `import "` + module + `informerhub/object"`},
		"an object uses a mask":                  {file: "informerhub/object/a.go", source: `import "` + module + `informerhub/mask"`},
		"a mask uses an internal package":        {file: "informerhub/mask/a.go", source: `import "` + module + `informerhub/internal/kubejson"`},
		"a test of server uses a fake":           {file: "server/a_test.go", source: `import "` + module + `internal/fakeapi"`},
		"server defines metrics":                 {file: "server/a.go", source: `import "github.com/prometheus/client_golang/prometheus"`},
		"a test of auth uses the harness":        {file: "auth/a_test.go", source: `import "` + module + `e2e/harness"`},
		"a name with a forbidden prefix":         {file: "auth/a.go", source: `import "` + module + `generic"`},
		"auth takes a configuration":             {file: "auth/a.go", source: `import "k8s.io/client-go/rest"; func f(*rest.Config) {}`},
		"a test of server builds one":            {file: "server/a_test.go", source: `import "k8s.io/client-go/rest"; var c = &rest.Config{}`},
		"cmd/server builds a configuration":      {file: "cmd/server/a.go", source: `import "k8s.io/client-go/rest"; var c, _ = rest.InClusterConfig()`},
		"a black-box test reads a kubeconfig":    {file: "e2e/a.go", source: `import "` + kubecfg + `"`},
		"connections know the callers' networks": {file: "cmd/server/serving/a.go", source: `import ("` + module + `auth"; "` + module + `server/edge")`},
	} {
		t.Run(name, func(t *testing.T) {
			violations := strings.Join(check(t, test.file, "package a; "+test.source), "\n")
			switch {
			case test.want == "" && violations != "":
				t.Errorf("unexpected violations: %s", violations)
			case !strings.Contains(violations, test.want):
				t.Errorf("violations are %q, want %q in them", violations, test.want)
			}
		})
	}
}

// check returns the violations of the rules in a file. source is its content; nil reads the file
// itself.
func check(t *testing.T, name string, source any) (violations []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if !rule.appliesTo(name) {
			continue
		}
		for _, forbidden := range rule.violations(file) {
			violations = append(violations, name+" must not use "+forbidden+": "+rule.because)
		}
	}
	return violations
}

func (r rule) appliesTo(name string) bool {
	within := func(folder string) bool { return folder == "" || strings.HasPrefix(name, folder+"/") }
	return slices.ContainsFunc(r.folders, within) && !slices.ContainsFunc(r.except, within) &&
		(r.testing || !strings.HasSuffix(name, "_test.go"))
}

func (r rule) violations(file *ast.File) (found []string) {
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if slices.Contains(r.exactly, imported) {
			found = append(found, imported)
		}
		for _, forbidden := range r.imports {
			if strings.HasPrefix(imported+"/", strings.TrimSuffix(forbidden, "/")+"/") {
				found = append(found, imported)
			}
		}
	}
	return append(found, r.forbiddenUses(file)...)
}

// forbiddenUses returns the forbidden names of client-go's rest package that a file calls, or
// creates a value of. A type in a signature is allowed.
func (r rule) forbiddenUses(file *ast.File) (found []string) {
	local := nameOf(file, "k8s.io/client-go/rest")
	note := func(expression ast.Expr) {
		selected, ok := expression.(*ast.SelectorExpr)
		if !ok {
			return
		}
		owner, ok := selected.X.(*ast.Ident)
		if used := "rest." + selected.Sel.Name; ok && owner.Name == local && slices.Contains(r.uses, used) {
			found = append(found, used)
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
	return found
}

// nameOf returns the name that a file gives to a package; empty if it does not import it.
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

// TestWorkflows_PinActionsByCommit checks that no job runs code that its author can replace: a tag can be
// moved, a commit cannot.
func TestWorkflows_PinActionsByCommit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	used := regexp.MustCompile(`(?m)uses:.*$`)
	pinned := regexp.MustCompile(`^uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		for _, use := range used.FindAllString(readDoc(t, file), -1) {
			if !pinned.MatchString(use) {
				t.Errorf("%s: %q does not name a commit and its version, as OWNER/NAME@COMMIT # vX.Y.Z", file, use)
			}
		}
	}
}
