package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

func TestBrowser_ShowsNewAndDeletedPodsWithoutReload(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	namespace := newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 3, labels{})
	browser := startProgram(t, nodeProgram("browser", "rows.mjs"), pageOf(service, namespace), "3", "5", "2")

	var shown struct {
		Names []string
		Said  string
	}
	browser.step(ctx, "3 rows", &shown)
	wantNames(t, "the page shows", shown.Names, podNames(ctx, t, namespace, ""))
	wantWords(t, shown.Said, "3", "pods")
	scaleDeployment(ctx, t, namespace, "web", 5)
	browser.step(ctx, "5 rows", &shown)
	wantNames(t, "the page shows", shown.Names, podNames(ctx, t, namespace, ""))
	scaleDeployment(ctx, t, namespace, "web", 2)
	browser.step(ctx, "2 rows", &shown)
	wantNames(t, "the page shows", shown.Names, podNames(ctx, t, namespace, ""))
	var end struct{ Loads int }
	browser.step(ctx, "end", &end)
	if end.Loads != 0 {
		t.Errorf("the page was reloaded %d times", end.Loads)
	}
	browser.ends(ctx)
}

func TestBrowser_ChangesLabelsAndSeesThemInTheWatch(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	namespace := newNamespace(ctx, t, cluster(t))
	createUnscheduledPod(ctx, t, namespace, "one")
	createPodOfTeam(ctx, t, namespace, "other", "red")
	browser := startProgram(t, nodeProgram("browser", "label.mjs"), pageOf(service, namespace), "one", "other")

	browser.step(ctx, "labelled", new(struct{}))
	wantTeam(ctx, t, namespace, "one", "blue")
	browser.step(ctx, "unlabelled", new(struct{}))
	wantTeam(ctx, t, namespace, "other", "")
	browser.ends(ctx)
}

func TestBrowser_ShowsTheAPIServersErrorForALabel(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	namespace := newNamespace(ctx, t, cluster(t))
	createPodOfTeam(ctx, t, namespace, "one", "red")
	browser := startProgram(t, nodeProgram("browser", "label-refused.mjs"), pageOf(service, namespace), "one", artifacts(t))

	var offered struct{ Key, Value string }
	browser.step(ctx, "offered", &offered)
	if offered.Key != "team" || offered.Value != "red" {
		t.Errorf("the dialog offers %+v", offered)
	}
	var refused struct{ Words string }
	browser.step(ctx, "refused", &refused)
	wantWords(t, refused.Words, refusalOfTeam(ctx, t, namespace, "one", "not valid!"))
	browser.step(ctx, "mended", new(struct{}))
	wantTeam(ctx, t, namespace, "one", "green")
	browser.ends(ctx)
}

func TestBrowser_KeepsTheTableAfterAnInvalidSelector(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	namespace := newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, labels{})
	runDeployment(ctx, t, namespace, "db", 1, labels{})
	browser := startProgram(t, nodeProgram("browser", "selector.mjs"),
		pageOf(service, namespace), "3", "app=web", "2", artifacts(t))

	all := podNames(ctx, t, namespace, "")
	var shown struct {
		Names        []string
		Words, State string
	}
	browser.step(ctx, "all", &shown)
	wantNames(t, "the page shows", shown.Names, all)
	browser.step(ctx, "refused", &shown)
	wantNames(t, "with an invalid selector the page shows", shown.Names, all)
	_, err := apilabels.Parse("app in (")
	wantWords(t, shown.Words, err.Error())
	if shown.State != "live" {
		t.Errorf("state of the page %s, want live", shown.State)
	}
	browser.step(ctx, "some", &shown)
	wantNames(t, "with a selector the page shows", shown.Names, podNames(ctx, t, namespace, "app=web"))
	browser.ends(ctx)
}

func TestBrowser_ReconnectsToARestartedService(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartMortalService(t, cluster(t).Kubeconfig, "127.0.0.1:0")
	namespace := newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, labels{})
	browser := startProgram(t, nodeProgram("browser", "reconnect.mjs"), pageOf(service, namespace), "2", "4", artifacts(t))

	before := podNames(ctx, t, namespace, "")
	var shown struct {
		Names []string
		Words string
	}
	browser.step(ctx, "live", &shown)
	wantNames(t, "the page shows", shown.Names, before)
	service.Crash()
	browser.step(ctx, "reconnecting", &shown)
	wantNames(t, "without the service the page shows", shown.Names, before)
	wantWords(t, shown.Words, "Reconnecting", "the service cannot be reached")
	scaleDeployment(ctx, t, namespace, "web", 4)
	harness.StartMortalService(t, cluster(t).Kubeconfig, hostPort(service))
	browser.step(ctx, "live again", &shown)
	wantNames(t, "after the reconnection the page shows", shown.Names, podNames(ctx, t, namespace, ""))
	browser.ends(ctx)
}

func TestBrowser_ReportsAFrozenServiceAndReconnects(t *testing.T) {
	t.Parallel()
	const silence = time.Minute // the page notices it much sooner
	ctx, service := deadlineAfter(t, patience+silence), harness.StartMortalService(t, cluster(t).Kubeconfig, "127.0.0.1:0")
	namespace := newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, labels{})
	browser := startProgram(t, nodeProgram("browser", "frozen.mjs"), pageOf(service, namespace), "2", "4", artifacts(t))

	before := podNames(ctx, t, namespace, "")
	var shown struct {
		Names []string
		Words string
	}
	browser.step(ctx, "live", &shown)
	wantNames(t, "the page shows", shown.Names, before)
	if err := service.Freeze(); err != nil {
		t.Fatal(err)
	}
	browser.step(ctx, "silent", &shown)
	wantNames(t, "while the service is frozen the page shows", shown.Names, before)
	wantWords(t, shown.Words, "Reconnecting", "the service does not respond", "last message at")
	scaleDeployment(ctx, t, namespace, "web", 4)
	if err := service.Thaw(); err != nil {
		t.Fatal(err)
	}
	browser.step(ctx, "live again", &shown)
	wantNames(t, "after the reconnection the page shows", shown.Names, podNames(ctx, t, namespace, ""))
	browser.ends(ctx)
}

func TestBrowser_FitsThePageToItsWidthAndColours(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), harness.StartService(t, cluster(t).Kubeconfig)
	namespace := newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 4, labels{"app.kubernetes.io/name": "web", "tier": "frontend", "team": "storefront"})
	runDeployment(ctx, t, namespace, "orders", 3, labels{"app.kubernetes.io/name": "orders", "tier": "backend"})
	runDeployment(ctx, t, namespace, "postgres", 1, labels{"tier": "database"})
	createUnscheduledPod(ctx, t, namespace, "waits-for-a-scheduler")
	browser := startProgram(t, nodeProgram("browser", "look.mjs"), pageOf(service, namespace), "9", artifacts(t))

	backgrounds := map[string]string{}
	for _, width := range []string{"wide", "phone"} {
		for _, colours := range []string{"light", "dark"} {
			var seen struct {
				Overflow   int
				Background string
			}
			browser.step(ctx, width+"-"+colours, &seen)
			if seen.Overflow > 0 {
				t.Errorf("%s: horizontal overflow of %d pixels", width, seen.Overflow)
			}
			backgrounds[width+"-"+colours] = seen.Background
		}
		if backgrounds[width+"-light"] == backgrounds[width+"-dark"] {
			t.Errorf("%s: both the light and the dark background are %s", width, backgrounds[width+"-dark"])
		}
	}
	browser.ends(ctx)
}

// pageOf returns the address of the page that shows the pods of a namespace.
func pageOf(service *harness.Service, namespace string) string {
	return service.Address + "/?namespace=" + namespace
}

// artifacts creates the directory for screenshots and returns its path.
func artifacts(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("artifacts")
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
	pod := unscheduledPod(name)
	pod.Labels = labels{"team": team}
	if _, err := cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wantTeam fails the test unless the pod in the cluster has this label, or none if want is empty.
func wantTeam(ctx context.Context, t *testing.T, namespace, name, want string) {
	t.Helper()
	pod, err := cluster(t).Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
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
	_, err := cluster(t).Client.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) {
		t.Fatalf("the API server does not reject the label: %v", err)
	}
	return refused.ErrStatus.Message
}
