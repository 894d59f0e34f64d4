package server

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// tableOfPods are the fields in a table of pods.
var tableOfPods = []string{"metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "spec.containers[*].image"}

// TestFields_ListsMatchMaskedObjects compares the encoding of lists with that of the
// other reads.
func TestFields_ListsMatchMaskedObjects(t *testing.T) {
	fields, err := encode.Fields(append(tableOfPods, "spec.size", "kind"), false)
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]*informerhub.Object{
		"a pod":                     objecttest.PodObject(t, tablePod(t, "a")),
		"a custom resource":         objecttest.WidgetObject(t, objecttest.WidgetText),
		"JSON that cannot be read":  objecttest.WidgetObject(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":nul}`),
		"a pod that ends too early": objecttest.ProtobufObject(t, "Pod", "\x0a\x03\x0a\x01a\x12\x05"),
	} {
		for number, name2 := range kubeconnectv1.Encoding_name {
			encoding := kubeconnectv1.Encoding(number)
			t.Run(name+" as "+name2, func(t *testing.T) {
				page, ok := encode.AppendListed(nil, object, nil, encode.View{Encoding: encoding, Fields: fields}, math.MaxInt)
				var got kubeconnectv1.ListResponse
				if err := proto.Unmarshal(page, &got); err != nil || !ok {
					t.Fatal(ok, err)
				}
				want := encode.Object(object.Masked(fields), encoding)
				if !proto.Equal(got.GetObjects()[0], want) {
					t.Errorf("the list has\n%v, want\n%v", got.GetObjects()[0], want)
				}
				var shared kubeconnectv1.Object
				if err := proto.Unmarshal(encode.Bytes(object.Masked(fields), encoding), &shared); err != nil || !proto.Equal(&shared, want) {
					t.Errorf("a stream has\n%v, error %v, want\n%v", &shared, err, want)
				}
			})
		}
	}
}

func TestFields_PagesHoldMoreObjects(t *testing.T) {
	fields, err := encode.Fields([]string{"metadata.name"}, false)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*informerhub.Object
	for i := range 5 {
		pod := objecttest.Pod(fmt.Sprint("pod-", i), 1)
		pod.Annotations = map[string]string{"large": string(make([]byte, 1<<20))}
		objects = append(objects, objecttest.PodObject(t, pod))
	}
	for number := range kubeconnectv1.Encoding_name {
		var response kubeconnectv1.ListResponse
		view := encode.View{Encoding: kubeconnectv1.Encoding(number), Fields: fields, Messages: true}
		if added := pageOf(t, &response, objects, view); added != len(objects) || proto.Size(&response) > 1000 {
			t.Errorf("a page as %v has %d objects in %d bytes", view.Encoding, added, proto.Size(&response))
		}
	}
}

// tablePod returns a typical pod: a web server with a sidecar proxy.
func tablePod(t testing.TB, name string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("../informerhub/internal/kubejson/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	pod := objecttest.Pod(name, 1)
	if err := json.Unmarshal(text, pod); err != nil {
		t.Fatal(err)
	}
	pod.Name = name
	return pod
}

// byAPIServer does the work of an API server for each object of a list as JSON.
const byAPIServer = "whole, by the Go type"

// BenchmarkListOfSomeFields lists whole pods, and only the fields of a table, and reports the
// ratios to the work of an API server.
func BenchmarkListOfSomeFields(b *testing.B) {
	fields, err := encode.Fields(tableOfPods, false)
	if err != nil {
		b.Fatal(err)
	}
	var objects []*informerhub.Object
	for i := range 2000 {
		objects = append(objects, objecttest.PodObject(b, tablePod(b, fmt.Sprint("pod-", i))))
	}
	took := make(map[string]time.Duration)
	b.Run(byAPIServer, func(b *testing.B) {
		b.ReportAllocs()
		pod := tablePod(b, "a")
		for b.Loop() {
			if _, err := json.Marshal(pod); err != nil {
				b.Fatal(err)
			}
		}
		took[byAPIServer] = b.Elapsed() / time.Duration(b.N)
	})
	for _, way := range []struct {
		name string
		form encode.View
	}{
		{"whole, JSON", encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_JSON}},
		{"whole, struct", encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_STRUCT}},
		{"fields, protobuf", encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF, Fields: fields}},
		{"fields, JSON", encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_JSON, Fields: fields}},
		{"fields, struct", encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_STRUCT, Fields: fields}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			bytes := 0
			for b.Loop() {
				bytes = 0
				for rest := objects; len(rest) > 0; {
					var response kubeconnectv1.ListResponse
					rest = rest[pageOf(b, &response, rest, way.form):]
					bytes += proto.Size(&response)
				}
			}
			b.ReportMetric(float64(bytes)/float64(len(objects)), "B/object")
			took[way.name] = b.Elapsed() / time.Duration(b.N*len(objects))
		})
	}
	for _, name := range []string{"fields, protobuf", "fields, JSON", "fields, struct"} {
		b.Logf("%s takes 1/%.1f of the time of %s", name, float64(took[byAPIServer])/float64(took[name]), byAPIServer)
	}
}
