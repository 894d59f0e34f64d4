package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

const (
	namedBy    = kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY
	names      = kubeconnectv1.JoinType_JOIN_TYPE_NAMES
	ownerOf    = kubeconnectv1.JoinType_JOIN_TYPE_OWNER_OF
	selectedOf = kubeconnectv1.JoinType_JOIN_TYPE_SELECTED_BY
	subjectOf  = kubeconnectv1.JoinType_JOIN_TYPE_SUBJECT_OF
)

// joinedResources are the discovery documents of the resources in the tests of joins.
var joinedResources = map[string]any{
	"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apps/v1", Version: "v1"}}}}},
	"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		servertest.Served("pods", "Pod", true), servertest.Served("nodes", "Node", false), servertest.Served("events", "Event", true), servertest.Served("configmaps", "ConfigMap", true),
		servertest.Served("persistentvolumeclaims", "PersistentVolumeClaim", true),
	}},
	"/apis/apps/v1": metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
		servertest.Served("deployments", "Deployment", true), servertest.Served("replicasets", "ReplicaSet", true)}},
}

// meta returns the metadata of an object in a namespace, or of a cluster-scoped one.
func meta(namespace, name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + name), ResourceVersion: "3", OwnerReferences: owners}
}

// controlledBy returns a reference to an object with the metadata of meta.
func controlledBy(apiVersion, kind, namespace, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + namespace + name), Controller: new(true)}
}

func joinedPod(namespace, name, node, claim string, owners ...metav1.OwnerReference) *corev1.Pod {
	pod := objecttest.Pod(name, 3)
	pod.ObjectMeta = meta(namespace, name, owners...)
	pod.Labels = map[string]string{"app": "web"}
	pod.Spec.NodeName = node
	if claim != "" {
		pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
	return pod
}

// joinedAPI returns an API server with pods of a deployment in namespace "a", and a pod without an
// owner in namespace "b". The pod a/web-2 is on a node that does not exist.
func joinedAPI() *servertest.FakeAPI {
	appMeta := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind} }
	coreMeta := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }
	node := &corev1.Node{TypeMeta: coreMeta("Node"), ObjectMeta: meta("", "n1")}
	node.Labels = map[string]string{"type": "large"}
	ready := joinedPod("a", "web-1", "n1", "data", controlledBy("apps/v1", "ReplicaSet", "a", "web-rs"))
	ready.Status.Phase = corev1.PodRunning
	deployment := &appsv1.Deployment{TypeMeta: appMeta("Deployment"), ObjectMeta: meta("a", "web")}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	event := func(name, kind, subject, uid string) *corev1.Event {
		return &corev1.Event{TypeMeta: coreMeta("Event"), ObjectMeta: meta("a", name),
			InvolvedObject: corev1.ObjectReference{Kind: kind, APIVersion: "v1", Namespace: "a", Name: subject, UID: types.UID(uid)}}
	}
	return &servertest.FakeAPI{Version: "10", Events: make(chan any), Served: joinedResources, Of: map[string][]any{
		"nodes": {node},
		"pods": {ready, joinedPod("a", "web-2", "gone", "data", controlledBy("apps/v1", "ReplicaSet", "a", "web-rs")),
			joinedPod("b", "alone", "n1", "data")},
		"replicasets": {&appsv1.ReplicaSet{TypeMeta: appMeta("ReplicaSet"), ObjectMeta: meta("a", "web-rs", controlledBy("apps/v1", "Deployment", "a", "web"))}},
		"deployments": {deployment},
		"events": {event("of-another", "Pod", "web-1", "uid-other"), event("of-config", "ConfigMap", "web-1", "uid-aweb-1"),
			event("of-web-1", "Pod", "web-1", "uid-aweb-1")},
		"persistentvolumeclaims": {
			&corev1.PersistentVolumeClaim{TypeMeta: coreMeta("PersistentVolumeClaim"), ObjectMeta: meta("a", "data")},
			&corev1.PersistentVolumeClaim{TypeMeta: coreMeta("PersistentVolumeClaim"), ObjectMeta: meta("a", "unused")},
		},
	}}
}

// joinedText returns the results of a list's joins: for each object and join "name=count", the
// names of the related objects and their content, or "not permitted".
func joinedText(t *testing.T, response *kubeconnectv1.ListResponse) string {
	t.Helper()
	var lines []string
	for _, object := range response.GetObjects() {
		for _, join := range object.GetJoined() {
			line := fmt.Sprintf("%s %s=%d", object.GetName(), join.GetName(), join.GetCount())
			if join.GetNotPermitted() {
				line += " not permitted"
			}
			for _, related := range join.GetObjects() {
				line += " " + related.GetName() + string(related.GetJson())
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestJoins_RelateObjects(t *testing.T) {
	s := newService(t, joinedAPI(), auth.KubeconfigAuthenticator{})
	const claims = "spec.volumes[*].persistentVolumeClaim.claimName"
	for name, test := range map[string]struct {
		resource string
		join     *kubeconnectv1.Join
		want     []string
	}{
		"a pod with its node's type": {
			"pods", &kubeconnectv1.Join{Type: namedBy, Resource: "nodes", Path: "spec.nodeName", Fields: []string{"metadata.labels.type"}},
			[]string{`web-1 j=1 n1{"metadata":{"labels":{"type":"large"}}}`, "web-2 j=0", `alone j=1 n1{"metadata":{"labels":{"type":"large"}}}`},
		},
		"a pod with its deployment": {
			"pods", &kubeconnectv1.Join{Type: ownerOf, Resource: "deployments", Fields: []string{"metadata.name"}},
			[]string{`web-1 j=1 web{"metadata":{"name":"web"}}`, `web-2 j=1 web{"metadata":{"name":"web"}}`, "alone j=0"},
		},
		"a pod with its replica set": {
			"pods", &kubeconnectv1.Join{Type: ownerOf, Resource: "replicasets"},
			[]string{"web-1 j=1", "web-2 j=1", "alone j=0"},
		},
		"a deployment with the number of its ready pods": {
			"deployments", &kubeconnectv1.Join{Type: selectedOf, Resource: "pods", Filter: "object.status.phase == 'Running'"},
			[]string{"web j=1"},
		},
		"a deployment with a pod": {
			"deployments", &kubeconnectv1.Join{Type: selectedOf, Resource: "pods", Fields: []string{"spec.nodeName"}, Limit: 1},
			[]string{`web j=2 web-1{"spec":{"nodeName":"n1"}}`},
		},
		"a claim with its pods": {
			"persistentvolumeclaims", &kubeconnectv1.Join{Type: names, Resource: "pods", Path: claims, Fields: []string{"metadata.name"}},
			[]string{`data j=2 web-1{"metadata":{"name":"web-1"}} web-2{"metadata":{"name":"web-2"}}`, "unused j=0"},
		},
		"a pod with its claims": {
			"pods", &kubeconnectv1.Join{Type: namedBy, Resource: "persistentvolumeclaims", Path: claims},
			[]string{"web-1 j=1", "web-2 j=1", "alone j=0"},
		},
		"a node with its pods in all namespaces": {
			"nodes", &kubeconnectv1.Join{Type: names, Resource: "pods", Path: "spec.nodeName"}, []string{"n1 j=2"},
		},
		"an event with its pod": {
			"events", &kubeconnectv1.Join{Type: subjectOf, Resource: "pods", Fields: []string{"spec.nodeName"}},
			[]string{"of-another j=0", "of-config j=0", `of-web-1 j=1 web-1{"spec":{"nodeName":"n1"}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.join.Name = "j"
			got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{
				Resource: test.resource, Encoding: asJSON, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{test.join}})
			if err != nil {
				t.Fatal(err)
			}
			if text := joinedText(t, got); text != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", text, strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestJoins_AreSentInEachForm compares the forms of a response, of which some are copied as bytes.
func TestJoins_AreSentInEachForm(t *testing.T) {
	request := func(encoding kubeconnectv1.Encoding, fields ...string) *kubeconnectv1.ListRequest {
		return &kubeconnectv1.ListRequest{Resource: "pods", Encoding: encoding, Fields: fields, Joins: []*kubeconnectv1.Join{
			{Name: "node", Type: namedBy, Resource: "nodes", Path: "spec.nodeName", Fields: []string{"metadata.labels"}},
			{Name: "owner", Type: ownerOf, Resource: "deployments"},
		}}
	}
	for _, form := range [][]connecthttp.Option{nil, {connecthttp.WithProtoJSON()}} {
		s := newService(t, joinedAPI(), auth.KubeconfigAuthenticator{}, form...)
		for number, encoding := range kubeconnectv1.Encoding_name {
			for _, fields := range [][]string{nil, {"metadata.name"}} {
				t.Run(fmt.Sprint(encoding, fields, len(form)), func(t *testing.T) {
					got, err := s.resources.List(t.Context(), request(kubeconnectv1.Encoding(number), fields...))
					if err != nil {
						t.Fatal(err)
					}
					first := got.GetObjects()[0]
					node, owner := first.GetJoined()[0], first.GetJoined()[1]
					if len(got.GetObjects()) != 3 || first.GetContent() == nil || node.GetCount() != 1 || owner.GetCount() != 1 ||
						labelOf(t, node.GetObjects()[0]) != "large" || node.GetObjects()[0].GetUid() != "uid-n1" {
						t.Errorf("got %v", got)
					}
				})
			}
		}
	}
}

// labelOf returns the label "type" of an object in any encoding.
func labelOf(t *testing.T, object *kubeconnectv1.Object) string {
	t.Helper()
	var node corev1.Node
	switch {
	case object.GetProtobuf() != nil:
		if err := node.Unmarshal(object.GetProtobuf()); err != nil {
			t.Fatal(err)
		}
	default:
		text := object.GetJson()
		if object.GetStruct() != nil {
			text = objecttest.JSON(t, object.GetStruct().AsMap())
		}
		if err := json.Unmarshal(text, &node); err != nil {
			t.Fatal(err)
		}
	}
	return node.Labels["type"]
}

func TestJoins_InvalidRequestsAreRejected(t *testing.T) {
	s := newService(t, joinedAPI(), auth.KubeconfigAuthenticator{})
	valid := func() *kubeconnectv1.Join {
		return &kubeconnectv1.Join{Name: "node", Type: namedBy, Resource: "nodes", Path: "spec.nodeName", Fields: []string{"metadata.name"}}
	}
	for want, change := range map[string]func(*kubeconnectv1.ListRequest){
		`invalid name of a join ""`:              func(r *kubeconnectv1.ListRequest) { r.Joins[0].Name = "" },
		`invalid name of a join "a b"`:           func(r *kubeconnectv1.ListRequest) { r.Joins[0].Name = "a b" },
		`two joins with the name "node"`:         func(r *kubeconnectv1.ListRequest) { r.Joins = append(r.Joins, valid()) },
		`there are 9 joins: give at most 8`:      func(r *kubeconnectv1.ListRequest) { r.Joins = slices.Repeat(r.Joins, 9) },
		`joins are not for CONSISTENCY_LATEST`:   func(r *kubeconnectv1.ListRequest) { r.Consistency = kubeconnectv1.Consistency_CONSISTENCY_LATEST },
		`join "node": type is required`:          func(r *kubeconnectv1.ListRequest) { r.Joins[0].Type = 0 },
		`join "node": unknown type 77`:           func(r *kubeconnectv1.ListRequest) { r.Joins[0].Type = 77 },
		`join "node": path is required`:          func(r *kubeconnectv1.ListRequest) { r.Joins[0].Path = "" },
		`join "node": path: `:                    func(r *kubeconnectv1.ListRequest) { r.Joins[0].Path = "a[0]" },
		`join "node": path is for NAMED_BY and`:  func(r *kubeconnectv1.ListRequest) { r.Joins[0].Type = ownerOf },
		`join "node": filter: `:                  func(r *kubeconnectv1.ListRequest) { r.Joins[0].Filter = "object." },
		`join "node": fields: `:                  func(r *kubeconnectv1.ListRequest) { r.Joins[0].Fields = []string{".."} },
		`join "node": invalid limit 101`:         func(r *kubeconnectv1.ListRequest) { r.Joins[0].Limit = 101 },
		`join "node": limit is for the objects`:  func(r *kubeconnectv1.ListRequest) { r.Joins[0].Fields, r.Joins[0].Limit = nil, 1 },
		`join "node": resource is required`:      func(r *kubeconnectv1.ListRequest) { r.Joins[0].Resource = "" },
		`join "node": type SUBJECT_OF is for ev`: func(r *kubeconnectv1.ListRequest) { r.Joins[0].Type, r.Joins[0].Path = subjectOf, "" },
		`join "node": pods are namespaced, and`:  func(r *kubeconnectv1.ListRequest) { r.Joins[0].Type = names },
		`join "node": pods are namespaced, and nodes are not: an`: func(r *kubeconnectv1.ListRequest) {
			r.Resource, r.Joins[0].Resource = "nodes", "pods"
		},
		`join "node": type SELECTED_BY: configmaps have no selector`: func(r *kubeconnectv1.ListRequest) {
			r.Resource, r.Joins[0].Type, r.Joins[0].Resource, r.Joins[0].Path = "configmaps", selectedOf, "pods", ""
		},
	} {
		t.Run(want, func(t *testing.T) {
			request := &kubeconnectv1.ListRequest{Resource: "pods", Joins: []*kubeconnectv1.Join{valid()}}
			change(request)
			if _, err := s.resources.List(t.Context(), request); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
				t.Errorf("returned %v", err)
			}
		})
	}
	request := &kubeconnectv1.ListRequest{Resource: "pods", Joins: []*kubeconnectv1.Join{valid()}}
	request.Joins[0].Resource = "unknowns"
	if _, err := s.resources.List(t.Context(), request); connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), `join "node": `) {
		t.Errorf("an unknown resource: %v", err)
	}
}

// TestJoins_PagesHaveTheSameResults lists one object in a page. The joins belong to the page token.
func TestJoins_PagesHaveTheSameResults(t *testing.T) {
	s := newService(t, joinedAPI(), auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.ListRequest{Resource: "pods", Encoding: asJSON, PageSize: 1, OrderBy: "metadata.name desc", Joins: []*kubeconnectv1.Join{
		{Name: "owner", Type: ownerOf, Resource: "deployments"}}}
	var got []string
	for {
		page, err := s.resources.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, joinedText(t, page))
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
		other := &kubeconnectv1.ListRequest{Resource: "pods", Encoding: asJSON, PageSize: 1, OrderBy: "metadata.name desc", PageToken: request.PageToken}
		if _, err := s.resources.List(t.Context(), other); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("the token was accepted without the joins: %v", err)
		}
	}
	if want := []string{"web-2 owner=1", "web-1 owner=1", "alone owner=0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestJoins_ReportWhatIsOmitted lists with a filter that has no value for some objects, and with
// invalid selectors.
func TestJoins_ReportWhatIsOmitted(t *testing.T) {
	api := joinedAPI()
	broken := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta("a", "broken")}
	broken.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "not a value"}}
	api.Of["deployments"] = append([]any{broken}, api.Of["deployments"]...)
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "deployments", Encoding: asJSON, Joins: []*kubeconnectv1.Join{
		{Name: "pods", Type: selectedOf, Resource: "pods", Filter: "object.status.phase == 'Running'"}}})
	if err != nil {
		t.Fatal(err)
	}
	if text := joinedText(t, got); text != "broken pods=0\nweb pods=1" {
		t.Errorf("got %s", text)
	}
	for i, want := range []string{
		`join "pods": 1 objects have an invalid selector, and no related objects: values[0][app]: Invalid value`,
		`join "pods": the filter has no value for 1 related objects, which are left out: no such key: phase (a/web-2)`,
	} {
		if warnings := got.GetWarnings(); len(warnings) != 2 || !strings.HasPrefix(warnings[i], want) {
			t.Errorf("the warnings are %q", warnings)
		}
	}
}

// TestJoins_LargeRelatedObjectsAreOmitted lists a claim with pods that are too large together.
func TestJoins_LargeRelatedObjectsAreOmitted(t *testing.T) {
	api := joinedAPI()
	for _, pod := range api.Of["pods"] {
		pod.(*corev1.Pod).Annotations = map[string]string{"large": strings.Repeat("x", 70<<10)}
	}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "nodes", Encoding: asJSON, Joins: []*kubeconnectv1.Join{
		{Name: "pods", Type: names, Resource: "pods", Path: "spec.nodeName", Fields: []string{"metadata.annotations"}}}})
	if err != nil {
		t.Fatal(err)
	}
	result := got.GetObjects()[0].GetJoined()[0]
	if result.GetCount() != 2 || len(result.GetObjects()) != 1 || len(got.GetWarnings()) != 1 || !strings.Contains(got.GetWarnings()[0], "too large") {
		t.Errorf("got %d objects of %d, and the warnings %q", len(result.GetObjects()), result.GetCount(), got.GetWarnings())
	}
}

// TestJoins_ShowOnlyWhatTheCallerCanList gives permissions for single resources.
func TestJoins_ShowOnlyWhatTheCallerCanList(t *testing.T) {
	all := auth.Namespaces{All: true}
	for name, test := range map[string]struct {
		of       map[string]auth.Namespaces
		resource string
		join     *kubeconnectv1.Join
		want     string
		warning  string
	}{
		"no node": {
			map[string]auth.Namespaces{"pods": all}, "pods",
			&kubeconnectv1.Join{Type: namedBy, Resource: "nodes", Path: "spec.nodeName", Fields: []string{"metadata.name"}},
			"web-1 j=0 not permitted\nweb-2 j=0 not permitted\nalone j=0 not permitted",
			`join "j": some results are not permitted: you may not list nodes`,
		},
		"claims of one namespace": {
			map[string]auth.Namespaces{"pods": all, "persistentvolumeclaims": servertest.Some("b")}, "pods",
			&kubeconnectv1.Join{Type: namedBy, Resource: "persistentvolumeclaims", Path: "spec.volumes[*].persistentVolumeClaim.claimName"},
			"web-1 j=0 not permitted\nweb-2 j=0 not permitted\nalone j=0",
			`join "j": some results are not permitted: you may not list persistentvolumeclaims in their namespaces`,
		},
		"no owner between": {
			map[string]auth.Namespaces{"pods": all, "deployments": all}, "pods",
			&kubeconnectv1.Join{Type: ownerOf, Resource: "deployments"},
			"web-1 j=0 not permitted\nweb-2 j=0 not permitted\nalone j=0",
			`join "j": some results are not permitted: you may not list replicasets.apps in their namespaces`,
		},
		"no deployment, with the owner between": {
			map[string]auth.Namespaces{"pods": all, "replicasets": all}, "pods",
			&kubeconnectv1.Join{Type: ownerOf, Resource: "deployments"},
			"web-1 j=0 not permitted\nweb-2 j=0 not permitted\nalone j=0 not permitted",
			`join "j": some results are not permitted: you may not list deployments.apps in their namespaces`,
		},
		"no pods": {
			map[string]auth.Namespaces{"deployments": all}, "deployments",
			&kubeconnectv1.Join{Type: selectedOf, Resource: "pods"}, "web j=0 not permitted",
			`join "j": some results are not permitted: you may not list pods in their namespaces`,
		},
		"no pods of events": {
			map[string]auth.Namespaces{"events": all}, "events",
			&kubeconnectv1.Join{Type: subjectOf, Resource: "pods"},
			"of-another j=0 not permitted\nof-config j=0 not permitted\nof-web-1 j=0 not permitted",
			`join "j": some results are not permitted: you may not list pods in their namespaces`,
		},
		"pods of one namespace on a node": {
			map[string]auth.Namespaces{"nodes": all, "pods": servertest.Some("b")}, "nodes",
			&kubeconnectv1.Join{Type: names, Resource: "pods", Path: "spec.nodeName"}, "n1 j=1",
			`join "j": the answer covers 1 of the cluster's namespaces: b; you may not list pods in the others`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			rights := servertest.NewFakeRights(auth.Namespaces{})
			rights.Of = test.of
			test.join.Name = "j"
			got, err := withRights(t, joinedAPI(), rights).resources.List(t.Context(), &kubeconnectv1.ListRequest{
				Resource: test.resource, Encoding: asJSON, Joins: []*kubeconnectv1.Join{test.join}})
			if err != nil {
				t.Fatal(err)
			}
			if text := joinedText(t, got); text != test.want {
				t.Errorf("got\n%s\nwant\n%s", text, test.want)
			}
			if warnings := got.GetWarnings(); len(warnings) != 1 || warnings[0] != test.warning {
				t.Errorf("the warnings are %q, want %q", warnings, test.warning)
			}
		})
	}
}

// TestJoins_PageEndsWhenItsJoinsCostTooMuch lists deployments of which each selects all pods.
func TestJoins_PageEndsWhenItsJoinsCostTooMuch(t *testing.T) {
	const n = 400
	api := manyJoined(n)
	for _, deployment := range api.Of["deployments"] {
		deployment.(*appsv1.Deployment).Spec.Selector = &metav1.LabelSelector{}
	}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	request := &kubeconnectv1.ListRequest{Resource: "deployments", Encoding: asJSON, Joins: []*kubeconnectv1.Join{{Name: "j", Type: selectedOf, Resource: "pods"}}}
	listed, pages := 0, 0
	for {
		page, err := s.resources.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range page.GetObjects() {
			if count := object.GetJoined()[0].GetCount(); count != n {
				t.Fatalf("%s has %d", object.GetName(), count)
			}
		}
		listed += len(page.GetObjects())
		pages++
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
	}
	if listed != n || pages < 2 {
		t.Errorf("listed %d in %d pages, want %d in several", listed, pages, n)
	}
}

// TestJoins_NamesOfARowAreBounded lists pods of which each names a node, and many that do not exist.
func TestJoins_NamesOfARowAreBounded(t *testing.T) {
	api := joinedAPI()
	api.Of["pods"] = nil
	for i := range 150 {
		pod := joinedPod("a", fmt.Sprintf("pod-%03d", i), "", "")
		pod.Spec.Containers = []corev1.Container{{Name: "c", Args: append([]string{"n1"}, slices.Repeat([]string{"gone"}, 3000)...)}}
		api.Of["pods"] = append(api.Of["pods"], pod)
	}
	got, err := newService(t, api, auth.KubeconfigAuthenticator{}).resources.List(t.Context(), &kubeconnectv1.ListRequest{
		Resource: "pods", Encoding: asJSON, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{
			{Name: "j", Type: namedBy, Resource: "nodes", Path: "spec.containers[*].args[*]"}}})
	if err != nil {
		t.Fatal(err)
	}
	if listed := len(got.GetObjects()); listed != 100 || got.GetNextPageToken() == "" || got.GetObjects()[99].GetJoined()[0].GetCount() != 1 {
		t.Errorf("the page has %d objects, of which the last one is %v", listed, got.GetObjects()[listed-1])
	}
	const warning = `join "j": only the first 1000 names are read of 100 objects that have more (a/pod-000, …)`
	if !slices.Equal(got.GetWarnings(), []string{warning}) {
		t.Errorf("the warnings are %q", got.GetWarnings())
	}
}

// TestJoins_CostlyFiltersAreBounded lists an object with more related objects than a filter can be
// evaluated for.
func TestJoins_CostlyFiltersAreBounded(t *testing.T) {
	const n = 3000
	api := manyJoined(n)
	for _, pod := range api.Of["pods"] {
		pod.(*corev1.Pod).Spec.NodeName = "n0"
	}
	costly := "!object.metadata.name.matches('" + strings.Repeat("(x+x+)+", 500) + "y')" // 3,500 for each
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	_, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "nodes", Encoding: asJSON, Joins: []*kubeconnectv1.Join{
		{Name: "j", Type: names, Resource: "pods", Path: "spec.nodeName", Filter: costly}}})
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), `join "j": filter: the expression costs too much`) {
		t.Errorf("returned %v", err)
	}
}
