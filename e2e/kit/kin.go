package kit

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// kin are objects of a namespace that others are related to. They do not change.
type kin struct {
	namespace string
	traffic   string            // a label selector for the objects with labels that the traffic writes
	owner     *corev1.ConfigMap // owns owned, and some of the traffic's objects
	owned     *corev1.ConfigMap
	orphan    *corev1.ConfigMap // has no owner
	selecting *corev1.Service   // selects the objects that kinSelects selects
}

// kinSelects are the labels that a Service of kin selects.
var kinSelects = labels.Set{traffic.Label: traffic.Words[0]}

// newKin creates the objects of a namespace, or reads those of earlier traffic.
func newKin(ctx context.Context, t *testing.T, on Testbed, namespace string) kin {
	t.Helper()
	controlPlane := on.ControlPlane
	k := kin{namespace: namespace, traffic: traffic.Selector(on.Namespaces[0])}
	k.owner = kinConfigMap(ctx, t, controlPlane, namespace, "kin-owner")
	k.owned = kinConfigMap(ctx, t, controlPlane, namespace, "kin-owned", k.ownerReference())
	k.orphan = kinConfigMap(ctx, t, controlPlane, namespace, "kin-orphan")
	api := controlPlane.Client.CoreV1().Services(namespace)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "kin"}, Spec: corev1.ServiceSpec{Selector: kinSelects, ClusterIP: corev1.ClusterIPNone}}
	var err error
	if k.selecting, err = api.Create(ctx, service, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		k.selecting, err = api.Get(ctx, service.Name, metav1.GetOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func kinConfigMap(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	t.Helper()
	api := controlPlane.Client.CoreV1().ConfigMaps(namespace)
	object, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		object, err = api.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func (k kin) ownerReference() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: k.owner.Name, UID: k.owner.UID}
}

// relation is a relation to one of the kin, and what it selects.
type relation struct {
	*kubeconnectv1.Relation
	selects func(validate.Write) bool
}

// some returns all relations in a soak, and otherwise one that selects nothing and another one: each is a
// stream whose recording is judged.
func (k kin) some(t *testing.T, rnd *rand.Rand) map[string]relation {
	t.Helper()
	all := k.relations()
	if _, soaking := SoakFor(t); soaking {
		return all
	}
	const empty = "owners of an orphan"
	other := pick(rnd, slices.Sorted(maps.Keys(all)))
	return map[string]relation{empty: all[empty], other: all[other]}
}

// relations returns relations of all types that a resource of the traffic can have.
func (k kin) relations() map[string]relation {
	to := func(of kubeconnectv1.RelationType, resource, name string) *kubeconnectv1.Relation {
		return &kubeconnectv1.Relation{Type: of, Resource: resource, Namespace: k.namespace, Name: name}
	}
	const ownedBy, ownerOf = kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF
	return map[string]relation{
		"owned":               {to(ownedBy, "configmaps", k.owner.Name), validate.OwnedBy(k.namespace, string(k.owner.UID))},
		"owned by none":       {to(ownedBy, "configmaps", k.orphan.Name), validate.Among()},
		"owners":              {to(ownerOf, "configmaps", k.owned.Name), validate.Among(string(k.owner.UID))},
		"owners of an orphan": {to(ownerOf, "configmaps", k.orphan.Name), validate.Among()},
		"selected":            {to(kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, "services", k.selecting.Name), validate.SelectedBy(k.namespace, kinSelects)},
	}
}
