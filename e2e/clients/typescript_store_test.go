package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// storesLine is a line of a program with two stores, a page and counts.
type storesLine struct {
	Settings []string // the ConfigMaps of the store, with their tiers
	Changed  []string // the same, from the differences that the store has reported
	Web      []string // the ConfigMaps of the tier "web", by the index
	Secrets  []string
	Page     []string
	Total    int
	Counts   []string
	Streams  streamsOpened
}

// streamsOpened are the streams that a client has opened.
type streamsOpened struct {
	Methods  []string
	MostOpen int // at once
}

// TestTypeScript_StoresShareAStream kills the service while a program keeps stores, a page and counts:
// all of them must have the objects of the cluster afterwards, and must have shared one stream.
func TestTypeScript_StoresShareAStream(t *testing.T) {
	t.Parallel()
	for name, command := range livePrograms(t, "stores") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			settings := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			for name, tier := range map[string]string{"a": "web", "b": "web", "c": "db", "d": "db"} {
				settings.Create(name, kit.Labels{"tier": tier})
			}
			createSecret(ctx, t, namespace, "first")
			service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
			caller := startProgram(t, command, service.Address, namespace)
			caller.hasStores(ctx, namespace)
			settings.Relabel("c", map[string]any{"tier": "web"})
			caller.hasStores(ctx, namespace)

			service.Crash()
			settings.Delete("a")
			settings.Relabel("b", map[string]any{"tier": "db"})
			settings.Create("e", kit.Labels{"tier": "cache"})
			createSecret(ctx, t, namespace, "second")
			harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
			caller.hasStores(ctx, namespace)
			settings.Delete("d")
			settings.Create("f", kit.Labels{"tier": "web"})
			opened := caller.hasStores(ctx, namespace)
			if !slices.Equal(opened.Methods, []string{"WatchMany"}) || opened.MostOpen > 2 {
				t.Errorf("the program has opened %+v, want one stream of WatchMany", opened)
			}
			createSecret(ctx, t, namespace, "end")
			caller.Ends(ctx)
		})
	}
}

func createSecret(ctx context.Context, t *testing.T, namespace, name string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: kit.Labels{"tier": "web"}}}
	if _, err := kit.Cluster(t).Client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// hasStores blocks until the program has what client-go reads from the API server. Returns the streams
// that the program has opened until then.
func (p program) hasStores(ctx context.Context, namespace string) (opened streamsOpened) {
	p.t.Helper()
	want := storesOf(ctx, p.t, namespace)
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var printed storesLine
		if json.Unmarshal([]byte(line), &printed) != nil {
			return false
		}
		opened, printed.Streams = printed.Streams, streamsOpened{}
		return reflect.DeepEqual(printed, want)
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not have %+v", err, want)
	}
	return opened
}

// storesOf returns what the program prints for the objects of a namespace.
func storesOf(ctx context.Context, t *testing.T, namespace string) (want storesLine) {
	t.Helper()
	api, options := kit.Cluster(t).Client.CoreV1(), metav1.ListOptions{LabelSelector: "tier"}
	settings, err := api.ConfigMaps(namespace).List(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := api.Secrets(namespace).List(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	want = storesLine{Web: []string{}, Page: []string{}, Total: len(settings.Items)}
	for i, each := range settings.Items {
		tier := each.Labels["tier"]
		counts[tier]++
		want.Settings = append(want.Settings, each.Name+"="+tier)
		if tier == "web" {
			want.Web = append(want.Web, each.Name)
		}
		if i < 3 {
			want.Page = append(want.Page, each.Name)
		}
	}
	want.Changed = want.Settings
	for _, each := range secrets.Items {
		want.Secrets = append(want.Secrets, each.Name)
	}
	for _, tier := range slices.Sorted(maps.Keys(counts)) {
		want.Counts = append(want.Counts, fmt.Sprintf("%s=%d", tier, counts[tier]))
	}
	return want
}
