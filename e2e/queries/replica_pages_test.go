package queries_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// walkedObjects are listed in pages of walkedPage; under `make soak` there are
	// walkedObjectsSoaking.
	walkedObjects, walkedObjectsSoaking = 3_000, 20_000
	walkedPage                          = 50
	// walkedChanges is the approximate number of concurrent changes a second.
	walkedChanges = 200
)

// TestPages_ContinueAtAnyReplica lists through a load balancer in front of three replicas, with a
// new connection for each page, while objects are created, changed and deleted. Together the pages
// must contain the objects of the API server at their version.
func TestPages_ContinueAtAnyReplica(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 10*time.Minute)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	world := newWalkedWorld(ctx, t, namespace)
	client := harness.Dial(harness.OneCallConnections(t), "http://"+balancedReplicas(t, 3), harness.Connect).Resources
	stop := world.churn(ctx)
	defer stop()

	for name, walk := range map[string]struct {
		request *kubeconnectv1.ListRequest
		selects func(corev1.ConfigMap) bool
		compare func(a, b corev1.ConfigMap) int // nil for the order by name
	}{
		"in the default order": {request: &kubeconnectv1.ListRequest{}},
		"sorted": {
			request: &kubeconnectv1.ListRequest{OrderBy: "data.rank desc"},
			compare: func(a, b corev1.ConfigMap) int { return cmp.Compare(rankOf(b), rankOf(a)) },
		},
		"selected by labels": {
			request: &kubeconnectv1.ListRequest{LabelSelector: "part=0"},
			selects: func(object corev1.ConfigMap) bool { return object.Labels["part"] == "0" },
		},
		"filtered": {
			request: &kubeconnectv1.ListRequest{Filter: "'rank' in object.data && int(object.data.rank) % 3 == 0"},
			selects: func(object corev1.ConfigMap) bool { return object.Data["rank"] != "" && rankOf(object)%3 == 0 },
		},
		"filtered and sorted": {
			request: &kubeconnectv1.ListRequest{Filter: "'rank' in object.data && int(object.data.rank) % 3 == 0", OrderBy: "data.rank"},
			selects: func(object corev1.ConfigMap) bool { return object.Data["rank"] != "" && rankOf(object)%3 == 0 },
			compare: func(a, b corev1.ConfigMap) int { return cmp.Compare(rankOf(a), rankOf(b)) },
		},
		"related": {
			request: &kubeconnectv1.ListRequest{Related: &kubeconnectv1.Relation{
				Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: namespace, Name: world.owner.Name,
			}},
			selects: func(object corev1.ConfigMap) bool { return len(object.OwnerReferences) > 0 },
		},
		"live": {
			request: &kubeconnectv1.ListRequest{Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST},
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := proto.CloneOf(walk.request)
			request.Resource, request.Namespace, request.PageSize = "configmaps", namespace, walkedPage
			began := time.Now()
			objects, version := kit.ListAllAt(ctx, t, client, request)
			t.Logf("%d objects at version %s in %v", len(objects), version, time.Since(began).Round(time.Millisecond))
			var listed []string
			for _, object := range objects {
				listed = append(listed, object.GetName()+" "+object.GetResourceVersion())
			}
			held := world.at(ctx, t, version, walk.selects, walk.compare)
			if len(held) <= walkedPage || !slices.Equal(listed, held) {
				t.Errorf("at version %s the pages have %d objects and the API server %d; first difference: %s",
					version, len(listed), len(held), firstDifference(listed, held))
			}
		})
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("index %d: %s, want %s", i, a[i], b[i])
		}
	}
	return "after the end of the shorter one"
}

// walkedWorld is the ConfigMaps of one namespace, which change all the time.
type walkedWorld struct {
	controlPlane *harness.Cluster
	namespace    string
	count        int
	owner        *corev1.ConfigMap // the owner of some of them
}

func newWalkedWorld(ctx context.Context, t *testing.T, namespace string) walkedWorld {
	t.Helper()
	w := walkedWorld{controlPlane: kit.Cluster(t), namespace: namespace, count: walkedObjects}
	if _, soaking := kit.SoakFor(t); soaking {
		w.count = walkedObjectsSoaking
	}
	w.owner = kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("owner", nil)
	var creators sync.WaitGroup
	for creator := range 16 {
		creators.Go(func() {
			for i := creator; i < w.count; i += 16 {
				if err := w.create(ctx, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creators.Wait()
	return w
}

func (w walkedWorld) api() typedcorev1.ConfigMapInterface {
	return w.controlPlane.Client.CoreV1().ConfigMaps(w.namespace)
}

func (w walkedWorld) create(ctx context.Context, i int) error {
	created := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("walked-%05d", i), Labels: kit.Labels{"part": strconv.Itoa(i % 3)}},
		Data:       map[string]string{"rank": strconv.Itoa(i * 7919 % w.count)},
	}
	if i%4 == 0 {
		created.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: w.owner.Name, UID: w.owner.UID}}
	}
	_, err := w.api().Create(ctx, created, metav1.CreateOptions{})
	return err
}

// churn changes objects until stop is called.
func (w walkedWorld) churn(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				w.change(ctx, rand.IntN(w.count))
				time.Sleep(time.Second * 4 / walkedChanges)
			}
		})
	}
	return func() { cancel(); writers.Wait() }
}

// change changes an object in one of several ways. It fails if another writer has deleted or
// created the object.
func (w walkedWorld) change(ctx context.Context, i int) {
	name := fmt.Sprintf("walked-%05d", i)
	switch rand.IntN(4) {
	case 0:
		if w.api().Delete(ctx, name, metav1.DeleteOptions{}) != nil {
			_ = w.create(ctx, i)
		}
	case 1:
		w.patch(ctx, name, `{"metadata":{"labels":{"part":"%d"}}}`, rand.IntN(3))
	default:
		w.patch(ctx, name, `{"data":{"rank":"%d"}}`, rand.IntN(w.count))
	}
}

func (w walkedWorld) patch(ctx context.Context, name, change string, value int) {
	_, _ = w.api().Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, change, value), metav1.PatchOptions{})
}

// at returns the objects of the API server at a version.
func (w walkedWorld) at(ctx context.Context, t *testing.T, version string, selects func(corev1.ConfigMap) bool, compare func(a, b corev1.ConfigMap) int) (held []string) {
	t.Helper()
	items := kit.ListAtVersion(ctx, t, w.controlPlane, w.namespace, version)
	if compare != nil {
		slices.SortStableFunc(items, compare)
	}
	for _, item := range items {
		if selects == nil || selects(item) {
			held = append(held, item.Name+" "+item.ResourceVersion)
		}
	}
	return held
}

// rankOf returns the rank of an object; objects without one are first.
func rankOf(object corev1.ConfigMap) int {
	rank, err := strconv.Atoi(object.Data["rank"])
	if err != nil {
		return -1
	}
	return rank
}

// balancedReplicas starts replicas behind a load balancer, and returns its address.
func balancedReplicas(t *testing.T, count int) string {
	t.Helper()
	var targets []string
	for range count {
		targets = append(targets, kit.HostPort(harness.StartService(t, kit.Cluster(t).Kubeconfig)))
	}
	return harness.StartBalancer(t, targets...).Address()
}
