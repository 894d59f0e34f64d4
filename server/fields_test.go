package server

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// TestFields_ListsMatchMaskedObjects compares the encoding of lists with that of the
// other reads.
func TestFields_ListsMatchMaskedObjects(t *testing.T) {
	fields, err := encode.Fields(append(servertest.TableOfPods, "spec.size", "kind"), false)
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]*informerhub.Object{
		"a pod":                     objecttest.PodObject(t, servertest.TablePod(t, "a")),
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
