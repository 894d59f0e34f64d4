package server

import (
	"encoding/json"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func watchPatches(t *testing.T, s *service, request *kubeconnectv1.WatchRequest) *connect.ServerStreamForClient[kubeconnectv1.WatchResponse] {
	t.Helper()
	request.Resource, request.Patches = "pods", true
	stream, err := s.resources.Watch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return stream
}

// contentOf is an event's content, in JSON.
func contentOf(t *testing.T, event *kubeconnectv1.Event) string {
	t.Helper()
	if text := event.GetObject().GetJson(); text != nil {
		return string(text)
	}
	text, err := json.Marshal(event.GetObject().GetStruct().AsMap())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// largePod is a pod with something that is worth a patch.
func largePod(version int) any {
	pod := newPod("a", version)
	pod.Annotations = map[string]string{"large": strings.Repeat("x", 1000)}
	return pod
}

func TestAModifiedObjectIsSentAsAPatchWhereThatIsAskedFor(t *testing.T) {
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "Connect in JSON": {connect.WithProtoJSON()}, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			api := podsAPI()
			api.objects = []any{largePod(3)}
			s := newService(t, api, auth.KubeconfigUser{}, options...)
			streams := []*connect.ServerStreamForClient[kubeconnectv1.WatchResponse]{
				watchPatches(t, s, &kubeconnectv1.WatchRequest{Encoding: asJSON}), watchPatches(t, s, &kubeconnectv1.WatchRequest{}),
			}
			for _, stream := range streams {
				receive(t, stream)
			}
			api.events <- watchEvent{"MODIFIED", largePod(11)}
			for _, stream := range streams {
				event := receive(t, stream).GetEvents()[0]
				if got := contentOf(t, event); !event.GetPatch() || got != `{"metadata":{"resourceVersion":"11"}}` || event.GetObject().GetResourceVersion() != "11" {
					t.Errorf("sends %s, a patch: %t", got, event.GetPatch())
				}
			}
			whole, err := s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = whole.Close() }()
			receive(t, whole)
			api.events <- watchEvent{"MODIFIED", largePod(12)}
			if event := receive(t, whole).GetEvents()[0]; event.GetPatch() || !strings.Contains(contentOf(t, event), "xxx") {
				t.Errorf("without patches, sends %v", event)
			}
		})
	}
}

func TestWhatIsNotKnownToBeHeldIsSentWhole(t *testing.T) {
	api := podsAPI()
	api.objects = []any{largePod(3)}
	s := newService(t, api, auth.KubeconfigUser{})
	stream := watchPatches(t, s, &kubeconnectv1.WatchRequest{})
	token := receive(t, stream).GetResumeToken()
	api.events <- watchEvent{"MODIFIED", largePod(11)}
	receive(t, stream)
	for name, test := range map[string]struct {
		request *kubeconnectv1.WatchRequest
		want    string
		patch   bool
	}{
		"the same watch goes on":      {&kubeconnectv1.WatchRequest{}, "MODIFIED:a", true},
		"its holder wants bytes now":  {&kubeconnectv1.WatchRequest{Encoding: asJSON}, "RESET ADDED:a SYNCED", false},
		"its encoding is spelled out": {&kubeconnectv1.WatchRequest{Encoding: kubeconnectv1.Encoding_ENCODING_STRUCT}, "MODIFIED:a", true},
	} {
		t.Run(name, func(t *testing.T) {
			request := proto.CloneOf(test.request)
			request.ResumeToken = token
			response := receive(t, watchPatches(t, s, request))
			if got := eventsOf(response); got != test.want || response.GetEvents()[0].GetPatch() != test.patch {
				t.Errorf("begins with %s, a patch: %t", got, response.GetEvents()[0].GetPatch())
			}
		})
	}
	t.Run("without patches", func(t *testing.T) {
		f := followPods(t, s, token)
		f.want("MODIFIED default/a")
		if f.last.GetEvents()[0].GetPatch() {
			t.Error("comes as a patch")
		}
		behind := &kubeconnectv1.WatchRequest{ResumeToken: f.token}
		if got := eventsOf(receive(t, watchPatches(t, s, behind))); got != "RESET ADDED:a SYNCED" {
			t.Errorf("back to patches, it begins with %s", got)
		}
	})
}

func TestPatchesAreNotForProtobuf(t *testing.T) {
	s := newService(t, podsAPI(), auth.KubeconfigUser{})
	err := watchError(t.Context(), s, &kubeconnectv1.WatchRequest{Resource: "pods", Patches: true, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF})
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "STRUCT or JSON") {
		t.Errorf("answers %v", err)
	}
}

// A text that a Struct cannot hold was sent as an error: there is nothing to patch.
func TestWhatWasSentAsAnErrorIsNotPatched(t *testing.T) {
	widget := func(version, number string) any {
		return json.RawMessage(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"` + version +
			`","annotations":{"large":"` + strings.Repeat("x", 1000) + `"}},"spec":{"number":` + number + `}}`)
	}
	api := podsAPI()
	api.objects = []any{widget("3", "1e999")}
	s := newService(t, api, auth.KubeconfigUser{})
	stream, err := s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "widgets", Patches: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if object := receive(t, stream).GetEvents()[1].GetObject(); object.GetError() == nil {
		t.Fatalf("is told as %v", object)
	}
	for i, number := range []string{"1", "2"} {
		api.events <- watchEvent{"MODIFIED", widget(string(rune('4'+i)), number)}
		if event := receive(t, stream).GetEvents()[0]; event.GetPatch() != (i == 1) || event.GetObject().GetStruct() == nil {
			t.Errorf("with number %s it tells %v", number, event)
		}
	}
}
