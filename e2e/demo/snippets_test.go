package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// snippets are the programs that the documentation includes, and what each of them prints.
var snippets = map[string]string{
	"browser/pods.ts":           ": ready",
	"curl/apply.sh":             "banner",
	"curl/count.sh":             "totalCount",
	"curl/joins.sh":             "joined",
	"curl/list.sh":              "objects",
	"curl/namespaces.sh":        "shop",
	"curl/patch.sh":             "resourceVersion",
	"curl/pod.sh":               "username",
	"curl/related.sh":           "web-",
	"curl/start.sh":             "Running",
	"go/watch/main.go":          "EVENT_TYPE_SYNCED",
	"grpcurl/list.sh":           "objects",
	"grpcurl/live_counts.sh":    "totalCount",
	"grpcurl/live_page.sh":      "EVENT_TYPE_SYNCED",
	"grpcurl/logs.sh":           "container",
	"grpcurl/start.sh":          "EVENT_TYPE_SYNCED",
	"grpcurl/wait.sh":           "EVENT_TYPE_ADDED",
	"grpcurl/watch.sh":          "EVENT_TYPE_SYNCED",
	"python/apply.py":           "banner is applied",
	"python/clusters.py":        "south",
	"python/joins.py":           " of web",
	"python/list.py":            "pods are not ready",
	"python/live_counts.py":     "CPUs",
	"python/live_page.py":       "10 of ",
	"python/logs.py":            "web-",
	"python/namespaces.py":      " pods",
	"python/notebook.py":        "shop",
	"python/patch.py":           "web has 4 replicas",
	"python/pod.py":             "authenticated as",
	"python/start.py":           "SYNCED",
	"python/store.py":           " of web",
	"python/wait.py":            "web is rolled out",
	"python/watch.py":           "synced:",
	"typescript/apply.ts":       "banner is applied",
	"typescript/clusters.ts":    "south",
	"typescript/joins.ts":       " of web",
	"typescript/list.ts":        "pods are not ready",
	"typescript/live_counts.ts": "CPUs",
	"typescript/live_page.ts":   "10 of ",
	"typescript/logs.ts":        "web-",
	"typescript/namespaces.ts":  " pods",
	"typescript/patch.ts":       "web has 4 replicas",
	"typescript/pod.ts":         "authenticated as",
	"typescript/start.ts":       "SYNCED",
	"typescript/store.ts":       " of web",
	"typescript/wait.ts":        "web is rolled out",
	"typescript/watch.ts":       "synced:",
}

// TestSnippets_RunInTheDemo runs each program of the documentation in the cluster that the
// documentation describes, with its own address in place of that of the pages.
func TestSnippets_RunInTheDemo(t *testing.T) {
	run := newSnippetRunner(t, start(t, 12)) // as by default: the pods of a rollout fit on them
	if names := run.names(); len(names) != len(snippets) {
		t.Errorf("the folder has %q: name each in this test", names)
	}
	for name, prints := range snippets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := kit.StartProcess(t, "env", append(run.environment(), run.command(t, name, prints)...)...)
			kit.Eventually(kit.Deadline(t), t, "it prints "+prints, func() error {
				if printed := process.Output(); !strings.Contains(printed, prints) {
					return fmt.Errorf("it prints %q", printed)
				}
				return nil
			})
		})
	}
}

// unending are the programs that run until they are stopped, and what each of them prints of a new pod of
// web, or of its deployment. Those of a shell end with their stream.
var unending = map[string]string{
	"go/watch/main.go":          "web-",
	"python/live_counts.py":     "CPUs",
	"python/live_page.py":       "web-",
	"python/logs.py":            "web-",
	"python/start.py":           "web-",
	"python/store.py":           "added web-",
	"python/watch.py":           "MODIFIED web 7",
	"typescript/live_counts.ts": "CPUs",
	"typescript/live_page.ts":   "web-",
	"typescript/logs.ts":        "web-",
	"typescript/start.ts":       "web-",
	"typescript/store.ts":       "web-",
	"typescript/watch.ts":       "MODIFIED web 7",
}

// TestSnippets_ContinueWhenTheirReplicaIsKilled kills the service of running programs, without a graceful
// shutdown, and starts it again. Each program has to print what changes after that.
func TestSnippets_ContinueWhenTheirReplicaIsKilled(t *testing.T) {
	address, kubeconfig := startCluster(t, 12)
	listen := harness.ReserveAddress(t)
	replica := harness.StartMortalService(t, kubeconfig, listen)
	run, processes := newSnippetRunner(t, "http://"+listen), map[string]*harness.Process{}
	for name := range unending {
		processes[name] = kit.StartProcess(t, "env", append(run.environment(), run.command(t, name, snippets[name])...)...)
	}
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	for name, process := range processes {
		kit.Eventually(ctx, t, name+" prints "+snippets[name], func() error {
			if printed := process.Output(); !strings.Contains(printed, snippets[name]) {
				return fmt.Errorf("it prints %q", printed)
			}
			return nil
		})
	}
	replica.Crash()
	harness.StartMortalService(t, kubeconfig, listen)
	before := map[string]int{}
	for name, process := range processes {
		before[name] = len(process.Output())
	}
	client := kubeconnectv1connect.NewResourceServiceClient(dial(address))
	if _, err := client.Patch(ctx, kit.WithData(&kubeconnectv1.PatchRequest{
		Resource: "deployments.apps", Namespace: "shop", Name: "web", Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
	}, `{"spec":{"replicas":7}}`)); err != nil {
		t.Fatal(err)
	}
	for name, process := range processes {
		kit.Eventually(ctx, t, name+" continues", func() error {
			if printed := process.Output(); !strings.Contains(printed[before[name]:], unending[name]) {
				return fmt.Errorf("it prints %q, before that %q", printed[before[name]:], printed[max(0, before[name]-400):before[name]])
			}
			return nil
		})
	}
}

// snippetRunner has what the programs of the documentation need.
type snippetRunner struct {
	folder, address, token string
}

func newSnippetRunner(t *testing.T, address string) *snippetRunner {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("any"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &snippetRunner{kit.CheckoutPath(t, "docs", "snippets"), address, token}
}

// names returns the programs in the folder.
func (r *snippetRunner) names() (names []string) {
	for _, pattern := range []string{"*/*.py", "*/*.ts", "*/*.sh", "go/*/*.go"} {
		found, _ := filepath.Glob(filepath.Join(r.folder, pattern))
		names = append(names, found...)
	}
	return slices.Sorted(slices.Values(names))
}

// environment is that of a program in a pod, which talks to the service without a proxy.
func (r *snippetRunner) environment() []string {
	path := filepath.Join(r.folder, "..", "..", "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
	return []string{"PATH=" + path, "no_proxy=*", "KUBECONNECT_ADDRESS=" + r.address, "KUBECONNECT_TOKEN_FILE=" + r.token}
}

// command returns the command that runs a program.
func (r *snippetRunner) command(t *testing.T, name, prints string) []string {
	t.Helper()
	modules := kit.CheckoutPath(t, "clients", "node_modules")
	switch kind, _, _ := strings.Cut(name, "/"); kind {
	case "python":
		return []string{kit.CheckoutPath(t, ".venv", "bin", "python"), "-u", r.copy(t, name, ".py")}
	case "typescript":
		file := r.copy(t, name, ".mts") // an ES module without a package.json
		if err := os.Symlink(modules, filepath.Join(filepath.Dir(file), "node_modules")); err != nil {
			t.Fatal(err)
		}
		return []string{filepath.Join(modules, ".bin", "tsx"), file}
	case "browser":
		return append(kit.NodeProgram(t, "browser", "snippet.mjs"), filepath.Join(r.folder, name), r.address, prints)
	case "go":
		return []string{kit.CheckoutPath(t, "bin", "docs-watch"), r.address}
	default:
		return []string{"sh", r.copy(t, name, ".sh")}
	}
}

// copy writes a program with the address of the service and the path of a token to a new folder.
func (r *snippetRunner) copy(t *testing.T, name, suffix string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	_, host, _ := strings.Cut(r.address, "://")
	replaced := strings.NewReplacer("127.0.0.1:8080", host, "/var/run/secrets/kubernetes.io/serviceaccount/token", r.token).Replace(string(text))
	file := filepath.Join(t.TempDir(), "program"+suffix)
	if err := os.WriteFile(file, []byte(replaced), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
