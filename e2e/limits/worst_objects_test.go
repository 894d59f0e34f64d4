package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// worstObject is an object close to the API server's size limit, and the content with which it is
// sent if a Struct was requested.
type worstObject struct {
	resource, name string
	asStruct       string
	want           map[string]any // the expected member of the object
	member         string
	version        string
}

// escaped is a ConfigMap with characters that Kubernetes JSON escapes in six bytes each: as JSON it
// is too large for a message, and is sent as an error.
const escaped = "escaped"

// TestEncoding_ObjectsOfTheWorstShapesAreComplete has objects whose Struct would be several times
// as large as their JSON, or nested too deeply to be decoded. They are sent completely, and a watch
// continues after them. Messages of the other protocols are the bytes of Connect in other frames: they are read
// with the content whose size and nesting differ most from the object's.
func TestEncoding_ObjectsOfTheWorstShapesAreComplete(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	objects := []worstObject{
		worstConfigMap(ctx, t, namespace, "many-keys", func(add func(key, value string)) {
			for i := range 60_000 {
				add(fmt.Sprintf("%05d", i), "")
			}
		}),
		worstConfigMap(ctx, t, namespace, "one-string", func(add func(key, value string)) {
			add("text", strings.Repeat("<é>", 150_000))
		}),
		worstConfigMap(ctx, t, namespace, escaped, func(add func(key, value string)) {
			add("text", strings.Repeat("<>", 500_000))
		}),
	}
	for name, shape := range map[string]struct {
		spec, asStruct string
	}{
		"many-numbers": {`{"list":[` + strings.Repeat("1,", 690_000) + `1]}`, "json"},
		"many-objects": {`{"list":[` + strings.Repeat(`{"a":1},`, 170_000) + `1]}`, "json"},
		"deep-objects": {strings.Repeat(`{"a":`, 500) + "{}" + strings.Repeat("}", 500), "json"},
		"deep-enough":  {strings.Repeat(`{"a":`, 25) + "{}" + strings.Repeat("}", 25), "struct"},
		"one-string":   {`{"text":"` + strings.Repeat("é", 690_000) + `"}`, "struct"},
	} {
		var spec map[string]any
		if err := json.Unmarshal([]byte(shape.spec), &spec); err != nil {
			t.Fatal(err)
		}
		created := gadgets.Create("v1", namespace, name, spec)
		objects = append(objects, worstObject{gadgets.Name(), name, shape.asStruct, spec, "spec", created.GetResourceVersion()})
	}
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) { // sequentially, because the responses are large
			client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
			for content, encoding := range kit.Encodings {
				if content != "struct" && protocol.Name != harness.Connect.Name && protocol.Name != harness.ConnectJSON.Name {
					continue
				}
				t.Run(content, func(t *testing.T) {
					readWorst(t, client, namespace, objects, content, encoding)
				})
			}
		})
	}
}

// worstConfigMap creates a ConfigMap, whose data is limited to a mebibyte.
func worstConfigMap(ctx context.Context, t *testing.T, namespace, name string, fill func(add func(key, value string))) worstObject {
	t.Helper()
	data, want := map[string]string{}, map[string]any{}
	fill(func(key, value string) { data[key], want[key] = value, value })
	api, object := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	created := kit.Create(ctx, t,
		func() (*corev1.ConfigMap, error) { return api.Create(ctx, object, metav1.CreateOptions{}) },
		func() (*corev1.ConfigMap, error) { return api.Get(ctx, name, metav1.GetOptions{}) })
	return worstObject{"configmaps", name, "struct", want, "data", created.ResourceVersion}
}

func readWorst(t *testing.T, client kit.ResourceClient, namespace string, objects []worstObject, content string, encoding kubeconnectv1.Encoding) {
	ctx := kit.Deadline(t)
	resources := map[string]bool{}
	byName := map[string]worstObject{}
	for _, object := range objects {
		key := object.resource + " " + object.name
		byName[key] = object
		answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{
			Resource: object.resource, Namespace: namespace, Name: object.name, Encoding: encoding, MinResourceVersion: object.version,
		})
		if err != nil {
			t.Fatal(err)
		}
		object.check(t, answer.GetObject(), content)
		resources[object.resource] = true
	}
	for resource := range resources {
		listed := kit.ListAll(ctx, t, client, &kubeconnectv1.ListRequest{Resource: resource, Namespace: namespace, Encoding: encoding})
		stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace, Encoding: encoding})
		watched := stream.Synced(ctx).Model.Objects
		if len(watched) != len(listed) {
			t.Errorf("the watch has %d %s, the list %d", len(watched), resource, len(listed))
		}
		for _, object := range watched {
			if want, ok := byName[resource+" "+object.GetName()]; ok {
				want.check(t, object, content)
			}
		}
		for _, object := range listed {
			if want, ok := byName[resource+" "+object.GetName()]; ok {
				want.check(t, object, content)
			}
		}
	}
}

// check fails the test unless an object was sent completely, with the expected content.
func (w worstObject) check(t *testing.T, object *kubeconnectv1.Object, content string) {
	t.Helper()
	switch {
	case content == "json" && w.name == escaped:
		if status := object.GetError(); status.GetReason() != "RequestEntityTooLarge" || !strings.Contains(status.GetMessage(), "bytes") {
			t.Errorf("content of %s: %T, want an error: %v", w.name, object.GetContent(), status)
		}
		return
	case content == "struct":
		content = w.asStruct
	case content == "protobuf" && w.resource != "configmaps":
		content = "json"
	}
	var got map[string]any
	if content == "protobuf" {
		var typed corev1.ConfigMap
		kit.Decode(t, object, content, &typed)
		got = map[string]any{"data": map[string]any{}}
		for key, value := range typed.Data {
			got["data"].(map[string]any)[key] = value
		}
	} else {
		kit.Decode(t, object, content, &got)
	}
	if !reflect.DeepEqual(got[w.member], map[string]any(w.want)) {
		t.Errorf("the content of %s %s differs", w.resource, w.name)
	}
}
