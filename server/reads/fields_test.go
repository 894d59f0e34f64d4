package reads

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

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

// byAPIServer does the work of an API server for each object of a list as JSON.
const byAPIServer = "whole, by the Go type"

// BenchmarkListOfSomeFields lists whole pods, and only the fields of a table, and reports the
// ratios to the work of an API server.
func BenchmarkListOfSomeFields(b *testing.B) {
	fields, err := encode.Fields(servertest.TableOfPods, false)
	if err != nil {
		b.Fatal(err)
	}
	var objects []*informerhub.Object
	for i := range 2000 {
		objects = append(objects, objecttest.PodObject(b, servertest.TablePod(b, fmt.Sprint("pod-", i))))
	}
	took := make(map[string]time.Duration)
	b.Run(byAPIServer, func(b *testing.B) {
		b.ReportAllocs()
		pod := servertest.TablePod(b, "a")
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
