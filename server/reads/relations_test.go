package reads

import (
	"strings"
	"testing"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// TestOwnSelector_ReadsBuiltInKinds has the selectors that Kubernetes' own controllers use.
func TestOwnSelector_ReadsBuiltInKinds(t *testing.T) {
	app := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b", "a"}}, {Key: "x", Operator: metav1.LabelSelectorOpExists}},
	}
	const text = "app=web,tier notin (a,b),x"
	plain := map[string]string{"b": "2", "a": "1"}
	for name, test := range map[string]struct {
		group, resource string
		object          runtime.Object
		want            string // "!" and a part of the error
	}{
		"a service":                           {"", "services", &corev1.Service{Spec: corev1.ServiceSpec{Selector: plain}}, "a=1,b=2"},
		"a service without a selector":        {"", "services", &corev1.Service{}, "!selects nothing"},
		"a replication controller":            {"", "replicationcontrollers", &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Selector: plain}}, "a=1,b=2"},
		"a deployment":                        {"apps", "deployments", &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: app}}, text},
		"a replica set":                       {"apps", "replicasets", &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: app}}, text},
		"a stateful set":                      {"apps", "statefulsets", &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: app}}, text},
		"a daemon set":                        {"apps", "daemonsets", &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: app}}, text},
		"a job":                               {"batch", "jobs", &batchv1.Job{Spec: batchv1.JobSpec{Selector: app}}, text},
		"a budget":                            {"policy", "poddisruptionbudgets", &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: app}}, text},
		"a budget of everything":              {"policy", "poddisruptionbudgets", &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}, ""},
		"a budget of nothing":                 {"policy", "poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, "!selects nothing"},
		"a network policy":                    {"networking.k8s.io", "networkpolicies", &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PodSelector: *app}}, text},
		"a network policy of everything":      {"networking.k8s.io", "networkpolicies", &networkingv1.NetworkPolicy{}, ""},
		"a config map, which has no selector": {"", "configmaps", &corev1.ConfigMap{}, "!configmaps have no selector"},
		"a claim, which selects no such":      {"", "persistentvolumeclaims", &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Selector: app}}, "!have no selector"},
	} {
		t.Run(name, func(t *testing.T) {
			object := objecttest.BuiltInObject(t, test.object)
			kind := object.Kind()
			got, err := ownSelector(informerhub.Resource{Group: test.group, Version: kind.Version, Name: test.resource, Kind: kind.Kind}, object)
			wantSelector(t, got, err, test.want)
		})
	}
}

func TestOwnSelector_ReadsCustomKindsByConvention(t *testing.T) {
	for content, want := range map[string]string{
		`"spec":{"selector":{"matchLabels":{"a":"1"}}}`:                   "a=1",
		`"spec":{"selector":{}}`:                                          "",
		`"spec":{"selector":null},"status":{"selector":"a=1,b in (c,d)"}`: "a=1,b in (c,d)",
		`"spec":{"selector":{"a":"1"}},"status":{"selector":"a=1"}`:       "a=1",
		`"status":{"selector":"a=1"}`:                                     "a=1",
		`"spec":{"selector":{"a":"1"}}`:                                   "!invalid selector",
		`"spec":{"selector":"a=1"}`:                                       "!invalid selector",
		`"spec":{"selector":{"matchLabels":{"a":"not a value"}}}`:         "!invalid selector",
		`"status":{"selector":"a in ("}`:                                  "!invalid selector",
		`"status":{"selector":{"a":"1"}}`:                                 "!selects nothing",
		`"status":{"selector":""}`:                                        "!selects nothing",
		`"spec":"text"`:                                                   "!invalid selector",
		`"spec":{}`:                                                       "!selects nothing",
	} {
		t.Run(content, func(t *testing.T) {
			object := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"a","uid":"u"},`+content+`}`)
			got, err := ownSelector(informerhub.Resource{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget"}, object)
			wantSelector(t, got, err, want)
		})
	}
}

func wantSelector(t *testing.T, got string, err error, want string) {
	t.Helper()
	words, refused := strings.CutPrefix(want, "!")
	switch {
	case refused && (!apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), words)):
		t.Errorf("got %q, %v; want an error with %q", got, err, words)
	case !refused && (err != nil || got != want):
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestAbout_NodesIncludeEventsOfTheirKubelet uses the node's name as its UID, like the kubelet.
func TestAbout_NodesIncludeEventsOfTheirKubelet(t *testing.T) {
	node := objecttest.BuiltInObject(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}})
	events := informerhub.Resource{Group: "events.k8s.io", Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
	related := about(informerhub.Resource{Version: "v1", Name: "nodes", Kind: "Node"}, node, events)
	if len(related.Fields) != 2 || strings.Join(related.Fields[0].Values, " ") != "u n" || related.Fields[0].Field != "regarding.uid" || related.Fields[1].Values[0] != "Node" {
		t.Errorf("selects by %v", related.Fields)
	}
}

// TestRelatedTo_RetainsNothingOfTheObject compares the memory of a condition and of the object that it is made of.
func TestRelatedTo_RetainsNothingOfTheObject(t *testing.T) {
	owner := objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"a","uid":"u","ownerReferences":[`+
		`{"apiVersion":"example.com/v1","kind":"Widget","name":"g","uid":"v","controller":true}]}}`)
	owned, _ := owner.Controller()
	events := informerhub.Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
	by, of, about := ownedBy(owner, objecttest.Widgets), ownersOf(owner, objecttest.Widgets), about(objecttest.Widgets, owner, events)
	for name, pair := range map[string][2]string{
		"the UID of an owner":                {by.Owner, owner.UID()},
		"the namespace of an owner":          {by.Namespace, owner.Namespace()},
		"the name of an owner":               {of.Among[0].Name, owned.Name},
		"the UID of an owner of an object":   {of.Among[0].UID, owned.UID},
		"the UID of an object with an event": {about.Fields[0].Values[0], owner.UID()},
	} {
		if pair[0] != pair[1] || unsafe.StringData(pair[0]) == unsafe.StringData(pair[1]) {
			t.Errorf("%s is %q, a part of the object's memory", name, pair[0])
		}
	}
}
