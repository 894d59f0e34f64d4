package clients_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestBrowser_ShowsNewAndDeletedPodsWithoutReload(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 3, kit.Labels{})
	browser := startProgram(t, kit.NodeProgram(t, "browser", "rows.mjs"), pageOf(service, namespace), "3", "5", "2")

	var shown struct {
		Names []string
		Said  string
	}
	browser.Step(ctx, "3 rows", &shown)
	kit.WantNames(t, "the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	kit.WantWords(t, shown.Said, "3", "pods")
	scaleDeployment(ctx, t, namespace, "web", 5)
	browser.Step(ctx, "5 rows", &shown)
	kit.WantNames(t, "the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	scaleDeployment(ctx, t, namespace, "web", 2)
	browser.Step(ctx, "2 rows", &shown)
	kit.WantNames(t, "the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	var end struct{ Loads int }
	browser.Step(ctx, "end", &end)
	if end.Loads != 0 {
		t.Errorf("the page was reloaded %d times", end.Loads)
	}
	browser.Ends(ctx)
}

func TestBrowser_ChangesLabelsAndSeesThemInTheWatch(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	createPodOfTeam(ctx, t, namespace, "other", "red")
	browser := startProgram(t, kit.NodeProgram(t, "browser", "label.mjs"), pageOf(service, namespace), "one", "other")

	browser.Step(ctx, "labelled", new(struct{}))
	wantTeam(ctx, t, namespace, "one", "blue")
	browser.Step(ctx, "unlabelled", new(struct{}))
	wantTeam(ctx, t, namespace, "other", "")
	browser.Ends(ctx)
}

func TestBrowser_ShowsTheAPIServersErrorForALabel(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createPodOfTeam(ctx, t, namespace, "one", "red")
	browser := startProgram(t, kit.NodeProgram(t, "browser", "label-refused.mjs"), pageOf(service, namespace), "one", artifacts(t))

	var offered struct{ Key, Value string }
	browser.Step(ctx, "offered", &offered)
	if offered.Key != "team" || offered.Value != "red" {
		t.Errorf("the dialog offers %+v", offered)
	}
	var refused struct{ Words string }
	browser.Step(ctx, "refused", &refused)
	kit.WantWords(t, refused.Words, refusalOfTeam(ctx, t, namespace, "one", "not valid!"))
	browser.Step(ctx, "mended", new(struct{}))
	wantTeam(ctx, t, namespace, "one", "green")
	browser.Ends(ctx)
}

func TestBrowser_KeepsTheTableAfterAnInvalidSelector(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
	runDeployment(ctx, t, namespace, "db", 1, kit.Labels{})
	browser := startProgram(t, kit.NodeProgram(t, "browser", "selector.mjs"),
		pageOf(service, namespace), "3", "app=web", "2", artifacts(t))

	all := kit.PodNames(ctx, t, namespace, "")
	var shown struct {
		Names        []string
		Words, State string
	}
	browser.Step(ctx, "all", &shown)
	kit.WantNames(t, "the page shows", shown.Names, all)
	browser.Step(ctx, "refused", &shown)
	kit.WantNames(t, "with an invalid selector the page shows", shown.Names, all)
	_, err := apilabels.Parse("app in (")
	kit.WantWords(t, shown.Words, err.Error())
	if shown.State != "live" {
		t.Errorf("state of the page %s, want live", shown.State)
	}
	browser.Step(ctx, "some", &shown)
	kit.WantNames(t, "with a selector the page shows", shown.Names, kit.PodNames(ctx, t, namespace, "app=web"))
	browser.Ends(ctx)
}

func TestBrowser_ReconnectsToARestartedService(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
	browser := startProgram(t, kit.NodeProgram(t, "browser", "reconnect.mjs"), pageOf(service, namespace), "2", "4", artifacts(t))

	before := kit.PodNames(ctx, t, namespace, "")
	var shown struct {
		Names []string
		Words string
	}
	browser.Step(ctx, "live", &shown)
	kit.WantNames(t, "the page shows", shown.Names, before)
	service.Crash()
	browser.Step(ctx, "reconnecting", &shown)
	kit.WantNames(t, "without the service the page shows", shown.Names, before)
	kit.WantWords(t, shown.Words, "Reconnecting", "the service cannot be reached")
	scaleDeployment(ctx, t, namespace, "web", 4)
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	browser.Step(ctx, "live again", &shown)
	kit.WantNames(t, "after the reconnection the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	browser.Ends(ctx)
}

func TestBrowser_ReportsAFrozenServiceAndReconnects(t *testing.T) {
	t.Parallel()
	const silence = time.Minute // the page notices it much sooner
	ctx, service := kit.DeadlineAfter(t, kit.WaitTimeout+silence), harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
	browser := startProgram(t, kit.NodeProgram(t, "browser", "frozen.mjs"), pageOf(service, namespace), "2", "4", artifacts(t))

	before := kit.PodNames(ctx, t, namespace, "")
	var shown struct {
		Names []string
		Words string
	}
	browser.Step(ctx, "live", &shown)
	kit.WantNames(t, "the page shows", shown.Names, before)
	if err := service.Freeze(); err != nil {
		t.Fatal(err)
	}
	browser.Step(ctx, "silent", &shown)
	kit.WantNames(t, "while the service is frozen the page shows", shown.Names, before)
	kit.WantWords(t, shown.Words, "Reconnecting", "the service does not respond", "last message at")
	scaleDeployment(ctx, t, namespace, "web", 4)
	if err := service.Thaw(); err != nil {
		t.Fatal(err)
	}
	browser.Step(ctx, "live again", &shown)
	kit.WantNames(t, "after the reconnection the page shows", shown.Names, kit.PodNames(ctx, t, namespace, ""))
	browser.Ends(ctx)
}

func TestBrowser_FitsThePageToItsWidthAndColours(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 4, kit.Labels{"app.kubernetes.io/name": "web", "tier": "frontend", "team": "storefront"})
	runDeployment(ctx, t, namespace, "orders", 3, kit.Labels{"app.kubernetes.io/name": "orders", "tier": "backend"})
	runDeployment(ctx, t, namespace, "postgres", 1, kit.Labels{"tier": "database"})
	kit.CreateUnscheduledPod(ctx, t, namespace, "waits-for-a-scheduler")
	browser := startProgram(t, kit.NodeProgram(t, "browser", "look.mjs"), pageOf(service, namespace), "9", artifacts(t))

	backgrounds := map[string]string{}
	for _, width := range []string{"wide", "phone"} {
		for _, colours := range []string{"light", "dark"} {
			var seen struct {
				Overflow   int
				Background string
			}
			browser.Step(ctx, width+"-"+colours, &seen)
			if seen.Overflow > 0 {
				t.Errorf("%s: horizontal overflow of %d pixels", width, seen.Overflow)
			}
			backgrounds[width+"-"+colours] = seen.Background
		}
		if backgrounds[width+"-light"] == backgrounds[width+"-dark"] {
			t.Errorf("%s: both the light and the dark background are %s", width, backgrounds[width+"-dark"])
		}
	}
	browser.Ends(ctx)
}

// pageOf returns the address of the page that shows the pods of a namespace.
func pageOf(service *harness.Service, namespace string) string {
	return service.Address + "/?namespace=" + namespace
}

// artifacts creates the directory for screenshots and returns its path.
func artifacts(t *testing.T) string {
	t.Helper()
	folder, err := harness.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func createPodOfTeam(ctx context.Context, t *testing.T, namespace, name, team string) {
	t.Helper()
	pod := kit.UnscheduledPod(name)
	pod.Labels = kit.Labels{"team": team}
	if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wantTeam fails the test unless the pod in the cluster has this label, or none if want is empty.
func wantTeam(ctx context.Context, t *testing.T, namespace, name, want string) {
	t.Helper()
	pod, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := pod.Labels["team"]; got != want {
		t.Errorf("label in the cluster %q, want %q", got, want)
	}
}

// refusalOfTeam returns the API server's own error for a label.
func refusalOfTeam(ctx context.Context, t *testing.T, namespace, name, team string) string {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"team":"` + team + `"}}}`)
	_, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) {
		t.Fatalf("the API server does not reject the label: %v", err)
	}
	return refused.ErrStatus.Message
}
