package clients_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// runtimes are the JavaScript runtimes in which the package works, with the arguments before the program.
// Deno also checks the types.
var runtimes = []struct {
	name, program string
	arguments     []string
}{
	{name: "node20", program: "program.js"},
	{name: "node22", program: "program.js"},
	{name: "deno", program: "program.ts", arguments: []string{"run", "--check", "--allow-net"}},
	{name: "bun", program: "program.ts", arguments: []string{"run"}},
}

// TestPackage_WorksInEachRuntime installs what `npm pack` gives in a fresh folder, and runs a program
// that lists, is rejected, watches until it aborts, and keeps a store while the service is killed.
func TestPackage_WorksInEachRuntime(t *testing.T) {
	t.Parallel()
	folder := installPackage(t)
	copyCaller(t, folder, "runtimes", "program.ts")
	// These versions of Node.js have no `await using`, and need JavaScript.
	esbuild := kit.CheckoutPath(t, "clients", "node_modules", ".bin", "esbuild")
	execute(t, folder, esbuild, "program.ts", "--target=es2022", "--log-level=warning", "--outfile=program.js")
	for _, each := range runtimes {
		t.Run(each.name, func(t *testing.T) {
			environment := []string{"env", "DENO_DIR=" + filepath.Join(folder, ".deno"), "DENO_NO_UPDATE_CHECK=1"}
			command := slices.Concat(environment, []string{runtimePath(t, each.name)}, each.arguments)
			for _, entry := range []string{"node", "web"} {
				t.Run(entry, func(t *testing.T) {
					t.Parallel()
					wantWorks(t, slices.Concat(command, []string{filepath.Join(folder, each.program), entry}))
				})
			}
		})
	}
}

// wantWorks fails the test unless a program prints what it reads.
func wantWorks(t *testing.T, command []string) {
	t.Helper()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	settings := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	settings.Create("a", kit.Labels{"tier": "web"})
	settings.Create("b", kit.Labels{"tier": "db"})
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	caller := startProgram(t, command, service.Address, namespace)
	caller.wantStep(ctx, "listed", "a=web", "b=db")
	caller.wantStep(ctx, "rejected", "InvalidArgumentError")
	caller.wantStep(ctx, "watched", "RESET", "ADDED", "ADDED", "SYNCED", "seen enough")
	caller.wantStep(ctx, "store", "a=web", "b=db")

	service.Crash()
	settings.Delete("a")
	settings.Relabel("b", map[string]any{"tier": "cache"})
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	caller.wantStep(ctx, "store", "b=cache")
	settings.Create("end", kit.Labels{"tier": "end"})
	caller.wantStep(ctx, "store", "b=cache", "end=end")
	caller.wantStep(ctx, "closed", "closed")
	caller.Ends(ctx)
}

// wantStep blocks until the program reports a step with these values.
func (p program) wantStep(ctx context.Context, step string, values ...string) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var printed struct {
			Step   string
			Values []string
		}
		return json.Unmarshal([]byte(line), &printed) == nil && printed.Step == step && slices.Equal(printed.Values, values)
	})
	if err != nil {
		p.t.Fatalf("step %q with %q: %v; output:\n%s", step, values, err, p.Process.Output())
	}
}

// TestPackage_WorksByAnImportMap opens the page of the README, which has no bundler, and kills the
// service: the page must show the pods of the cluster before and afterwards.
func TestPackage_WorksByAnImportMap(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
	create := func(name string) {
		if _, err := pods.Create(ctx, kit.UnscheduledPod(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("a")
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	site := startSite(t, service, strings.ReplaceAll(readmePage(t), `"default"`, `"`+namespace+`"`))
	browser := startProgram(t, kit.NodeProgram(t, "browser", "shown.mjs"), site)
	browser.wantStep(ctx, "shown", "a")

	service.Crash()
	create("b")
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	browser.wantStep(ctx, "shown", "a", "b")
	create("end")
	browser.wantStep(ctx, "shown", "a", "b", "end")
	browser.Ends(ctx)
}

// startSite serves a page and the installed packages, forwards calls to the service, and returns its address.
func startSite(t *testing.T, service *harness.Service, page string) string {
	t.Helper()
	address, err := url.Parse(service.Address)
	if err != nil {
		t.Fatal(err)
	}
	folder := installPackage(t)
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	files, calls := http.FileServer(http.Dir(folder)), httputil.NewSingleHostReverseProxy(address)
	calls.ErrorLog = log.New(io.Discard, "", 0) // the service is killed
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/kubeconnect.v1.") {
			calls.ServeHTTP(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

var htmlBlock = regexp.MustCompile("(?s)```html\n(.*?)```")

// readmePage returns the page of the package's README.
func readmePage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(kit.CheckoutPath(t, "clients", "ts", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := htmlBlock.FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("the README has %d pages, want 1", len(blocks))
	}
	return string(blocks[0][1])
}

// installPackage returns a new folder in which the package is installed as `npm pack` gives it, with its
// dependencies and the types of Node.js. There is nothing else, and no links.
func installPackage(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	modules := filepath.Join(folder, "node_modules")
	installed := filepath.Join(modules, "@kubeconnect", "client")
	if err := os.MkdirAll(installed, 0o755); err != nil {
		t.Fatal(err)
	}
	execute(t, folder, "tar", "-xzf", packPackage(t, folder), "--strip-components=1", "-C", installed)
	for _, name := range append(dependenciesOf(t, installed), "@types/node", "undici-types") {
		from := kit.CheckoutPath(t, "clients", "node_modules", filepath.FromSlash(name))
		if err := os.CopyFS(filepath.Join(modules, filepath.FromSlash(name)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// packPackage packs the package into a folder and returns the path. If KUBECONNECT_DIST is the folder of a
// release, it returns the path of the package there.
func packPackage(t *testing.T, folder string) string {
	t.Helper()
	if release := os.Getenv("KUBECONNECT_DIST"); release != "" {
		paths, err := filepath.Glob(filepath.Join(release, "kubeconnect-client-*.tgz"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("packages in %s: %q, %v", release, paths, err)
		}
		return paths[0]
	}
	// The scripts of npm pack would build dist, which other tests are using.
	packed := execute(t, kit.CheckoutPath(t, "clients", "ts"), "npm", "pack", "--silent", "--offline", "--ignore-scripts", "--pack-destination", folder)
	return filepath.Join(folder, strings.TrimSpace(packed))
}

// dependenciesOf returns the names of the dependencies of an installed package.
func dependenciesOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	for name := range manifest.Dependencies {
		names = append(names, name)
	}
	return names
}

// runtimePath returns the path of a runtime that `make e2e` has installed. Not every runtime exists for
// every machine, but all of them exist for Linux on x64.
func runtimePath(t *testing.T, name string) string {
	t.Helper()
	path := kit.CheckoutPath(t, ".cache", "runtimes", "bin", name)
	if _, err := os.Stat(path); err != nil {
		if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
			t.Fatalf("%v: run `make e2e-programs`", err)
		}
		t.Skipf("there is no %s for %s on %s", name, runtime.GOOS, runtime.GOARCH)
	}
	return path
}

// copyCaller copies a program of e2e/callers into a folder.
func copyCaller(t *testing.T, folder string, path ...string) {
	t.Helper()
	text, err := os.ReadFile(kit.CallerPath(t, path...))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, path[len(path)-1]), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs a command in a folder, and returns what it prints.
func execute(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = folder
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, printed)
	}
	return string(printed)
}
