package queries_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// wantedFields maps paths in the syntax of requests to their steps; "*" is each element.
var wantedFields = map[string][]string{
	"metadata.name": {"metadata", "name"},
	"{.metadata.labels['app.kubernetes.io/name']}": {"metadata", "labels", "app.kubernetes.io/name"},
	`metadata.annotations.e2e\.example\.com/note`:  {"metadata", "annotations", "e2e.example.com/note"},
	"$.spec.containers[*].image":                   {"spec", "containers", "*", "image"},
	"spec.containers[*].resources.limits":          {"spec", "containers", "*", "resources", "limits"},
	"spec.containers[*].ports[*]['containerPort']": {"spec", "containers", "*", "ports", "*", "containerPort"},
	"spec.tolerations":                             {"spec", "tolerations"},
	"spec.securityContext.runAsUser":               {"spec", "securityContext", "runAsUser"},
	"status.phase":                                 {"status", "phase"},
	"spec.color":                                   {"spec", "color"},
	"spec.parts[*].size":                           {"spec", "parts", "*", "size"},
	"spec.sizes[*]":                                {"spec", "sizes", "*"},
	"not.there":                                    {"not", "there"},
	"metadata.creationTimestamp.not.there":         {"metadata", "creationTimestamp", "not", "there"},
}

func fieldPaths() (paths []string) {
	for path := range wantedFields {
		paths = append(paths, path)
	}
	return paths
}

// onlyWanted returns the wanted fields of a value, computed in a simple way; false if there are
// none.
func onlyWanted(value any, paths [][]string) (any, bool) {
	for _, path := range paths {
		if len(path) == 0 {
			return value, true
		}
	}
	switch value := value.(type) {
	case map[string]any:
		left := make(map[string]any)
		for name, member := range value {
			if kept, found := onlyWanted(member, behind(paths, name)); found {
				left[name] = kept
			}
		}
		return left, len(left) > 0
	case []any:
		var left []any
		foundAny := false
		for _, element := range value {
			kept, found := onlyWanted(element, behind(paths, "*"))
			left, foundAny = append(left, kept), foundAny || found
		}
		return left, foundAny
	}
	return nil, false
}

// behind returns the remaining steps of the paths that begin with a step.
func behind(paths [][]string, step string) (rests [][]string) {
	for _, path := range paths {
		if path[0] == step || path[0] == "*" {
			rests = append(rests, path[1:])
		}
	}
	return rests
}

// wantedOf returns the wanted fields of an object of the API server.
func wantedOf(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	var complete any
	if err := json.Unmarshal(textOf(t, object), &complete); err != nil {
		t.Fatal(err)
	}
	var paths [][]string
	for _, path := range wantedFields {
		paths = append(paths, path)
	}
	left, _ := onlyWanted(complete, paths)
	return left.(map[string]any)
}

func textOf(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wantOnlyFields fails the test unless an object has its head, and exactly the wanted fields of the
// complete object as its content.
func wantOnlyFields(t *testing.T, object *kubeconnectv1.Object, content string, complete *unstructured.Unstructured) {
	t.Helper()
	kit.WantHead(t, object, complete)
	want := wantedOf(t, complete)
	if content == "protobuf" {
		got, typed := new(corev1.Pod), new(corev1.Pod)
		kit.Decode(t, object, content, got)
		if err := json.Unmarshal(textOf(t, want), typed); err != nil {
			t.Fatal(err)
		}
		if !apiequality.Semantic.DeepEqual(got, typed) {
			t.Errorf("got  %v\nwant %v", got, typed)
		}
		return
	}
	var got map[string]any
	kit.Decode(t, object, content, &got)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", textOf(t, got), textOf(t, want))
	}
}

// readFields reads one object's wanted fields with each call, in an encoding.
func readFields(ctx context.Context, t *testing.T, client kit.ResourceClient, resource string, complete metav1.Object, encoding kubeconnectv1.Encoding) map[string]*kubeconnectv1.Object {
	t.Helper()
	got, err := client.Get(ctx, &kubeconnectv1.GetRequest{
		Resource: resource, Namespace: complete.GetNamespace(), Name: complete.GetName(), Encoding: encoding, Fields: fieldPaths(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: resource, Namespace: complete.GetNamespace(), Encoding: encoding, Fields: fieldPaths(),
	})
	if err != nil || len(listed.GetObjects()) != 1 {
		t.Fatalf("the list has %d objects, error %v", len(listed.GetObjects()), err)
	}
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{
		Resource: resource, Namespace: complete.GetNamespace(), Encoding: encoding, Fields: fieldPaths(),
	})
	key := validate.Key{Namespace: complete.GetNamespace(), Name: complete.GetName()}
	return map[string]*kubeconnectv1.Object{
		"Get": got.GetObject(), "List": listed.GetObjects()[0], "Watch": stream.Synced(ctx).Model.Objects[key],
	}
}

func TestFields_LimitBuiltInObjects(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		created := createFullPod(ctx, t, namespace)
		kit.UntilRead(ctx, t, client, "pods", created)
		complete, err := kit.Cluster(t).Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).
			Namespace(namespace).Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for content, encoding := range kit.Encodings {
			for way, object := range readFields(ctx, t, client, "pods", created, encoding) {
				t.Run(way+" as "+content, func(t *testing.T) { wantOnlyFields(t, object, content, complete) })
			}
		}
	})
}

// createFullPod creates a pod that has the wanted fields, and others.
func createFullPod(ctx context.Context, t *testing.T, namespace string) *corev1.Pod {
	t.Helper()
	const manifest = `{
		"metadata": {"name": "full", "labels": {"app.kubernetes.io/name": "web", "app": "web"},
			"annotations": {"e2e.example.com/note": "<seen>", "e2e.example.com/other": "not"}},
		"spec": {"schedulerName": "nobody", "securityContext": {"runAsUser": 7, "runAsGroup": 8}, "containers": [
			{"name": "one", "image": "example.com/one:1", "args": ["a"], "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443}],
				"resources": {"limits": {"cpu": "0.5", "memory": "64Mi"}, "requests": {"cpu": "100m"}}},
			{"name": "two", "image": "example.com/two:1"}]}}`
	pod := new(corev1.Pod)
	if err := json.Unmarshal([]byte(manifest), pod); err != nil {
		t.Fatal(err)
	}
	pod, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestFields_LimitCustomResources(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
		gadgets.Define("v1")
		complete := gadgets.Create("v1", namespace, "one", map[string]any{
			"color": "red", "weight": 1.5, "sizes": []any{int64(1), int64(2)},
			"parts": []any{map[string]any{"size": int64(3), "name": "a"}, map[string]any{"name": "b"}},
		})
		kit.UntilRead(ctx, t, client, gadgets.Name(), complete)
		for requested, expected := range map[string]string{"struct": "struct", "json": "json", "protobuf": "json"} {
			for way, object := range readFields(ctx, t, client, gadgets.Name(), complete, kit.Encodings[requested]) {
				t.Run(way+" as "+requested, func(t *testing.T) { wantOnlyFields(t, object, expected, complete) })
			}
		}
	})
}

func TestFields_WatchOmitsChangesOfOtherFields(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
		first := write.Create("one", kit.Labels{"in": "1", "out": "1", "app": "web"})
		kit.UntilRead(ctx, t, client, "configmaps", first)
		request := &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web", Fields: []string{"metadata.labels.in"},
		}
		stream := record.Watch(t, client, request)
		point := kit.LastPoint(t, stream.Synced(ctx))
		kit.WantSnapshot(t, stream, kit.Added(first))

		write.Relabel("one", map[string]any{"out": "2"})
		write.Touch("one", "touched")
		inside := write.Relabel("one", map[string]any{"in": "2"})
		unseen := write.Relabel("one", map[string]any{"out": "3"})
		write.Relabel("one", map[string]any{"app": "db"})
		write.Relabel("one", map[string]any{"out": "4"})
		back := write.Relabel("one", map[string]any{"app": "web"})
		write.Relabel("one", map[string]any{"out": "5"})
		last := write.Relabel("one", map[string]any{"in": "3"})

		want := []string{kit.Modified(inside), kit.Deleted(unseen), kit.Added(back), kit.Modified(last)}
		view := stream.Reaches(ctx, last.ResourceVersion)
		kit.WantChanges(t, view, want...)
		request.Fields = []string{"{.metadata.labels['in']}"} // the same field in another syntax
		resumed := record.Resume(t, client, request, point).Reaches(ctx, last.ResourceVersion)
		kit.WantChanges(t, resumed, want...)
		for _, event := range record.AfterSnapshot(view.Events) {
			if fieldValues := event.GetObject().GetStruct().GetFields()["metadata"].GetStructValue().GetFields(); event.GetObject() != nil && len(fieldValues) != 1 {
				t.Errorf("metadata of %s: %v", record.Line(event), fieldValues)
			}
		}
	})
}

func TestFields_InvalidPathsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, test := range map[string]struct {
		fields []string
		says   string
	}{
		"a single element": {[]string{"metadata.name", "spec.containers[0].image"}, `"spec.containers[0].image": single elements are not supported`},
		"a condition":      {[]string{"spec.containers[?(@.name=='a')]"}, "conditions are not supported"},
		"a recursive path": {[]string{"..name"}, "write the whole path"},
		"an empty path":    {[]string{""}, "it names no field"},
		"too many paths":   {strings.Split(strings.Repeat("a ", 129), " ")[:129], "128 is the most"},
		"too long a path":  {[]string{strings.Repeat("a", 5<<10)}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "namespaces", Name: "default", Fields: test.fields})
			kit.WantError(t, err, connect.CodeInvalidArgument, "fields: ", test.says)
			_, err = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "namespaces", Fields: test.fields})
			kit.WantError(t, err, connect.CodeInvalidArgument, "fields: ", test.says)
			err = kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "namespaces", Fields: test.fields})
			kit.WantError(t, err, connect.CodeInvalidArgument, "fields: ", test.says)
		})
	}
}

func TestFields_ResumeTokenNeedsTheSameFields(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Fields: []string{"metadata.name"}}
	request.ResumeToken = kit.LastPoint(t, record.Watch(t, client, request).Synced(ctx)).Token
	for name, fields := range map[string][]string{"all": nil, "others": {"metadata.name", "data"}} {
		t.Run(name, func(t *testing.T) {
			request.Fields = fields
			kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodeInvalidArgument, "resume_token belongs to another watch")
		})
	}
}
