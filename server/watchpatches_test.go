package server

import (
	"encoding/json"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

const (
	merge      = kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE
	operations = kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON
)

func watchPatches(t *testing.T, s *service, request *kubeconnectv1.WatchRequest) *responses.Stream[kubeconnectv1.WatchResponse] {
	t.Helper()
	request.Resource = "pods"
	if request.GetPatchFormat() == encode.WholeObject {
		request.PatchFormat = merge
	}
	stream, err := responses.Of(s.resources.Watch(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return stream
}

// contentOf returns an event's content, in JSON.
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

// largePod returns a pod that is large enough for patches.
func largePod(version int) any {
	pod := objecttest.Pod("a", version)
	pod.Annotations = map[string]string{"large": strings.Repeat("x", 1000)}
	return pod
}

func TestPatches_AreSentOnRequest(t *testing.T) {
	for name, options := range map[string][]connecthttp.Option{
		"Connect": nil, "Connect in JSON": {connecthttp.WithProtoJSON()}, "gRPC": {connecthttp.WithGRPC()}, "gRPC-Web": {connecthttp.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			api := servertest.PodsAPI()
			api.Objects = []any{largePod(3)}
			s := newService(t, api, auth.KubeconfigAuthenticator{}, options...)
			streams := []*responses.Stream[kubeconnectv1.WatchResponse]{
				watchPatches(t, s, &kubeconnectv1.WatchRequest{Encoding: asJSON}), watchPatches(t, s, &kubeconnectv1.WatchRequest{}),
				watchPatches(t, s, &kubeconnectv1.WatchRequest{Encoding: asJSON, PatchFormat: operations}),
			}
			says := []string{
				`{"metadata":{"resourceVersion":"11"}}`, `{"metadata":{"resourceVersion":"11"}}`,
				`[{"op":"replace","path":"/metadata/resourceVersion","value":"11"}]`,
			}
			types := []kubeconnectv1.PatchFormat{merge, merge, operations}
			for _, stream := range streams {
				receive(t, stream)
			}
			api.Events <- servertest.Modified(largePod(11))
			for i, stream := range streams {
				event := receive(t, stream).GetEvents()[0]
				if got := contentOf(t, event); event.GetPatchFormat() != types[i] || got != says[i] || event.GetObject().GetResourceVersion() != "11" {
					t.Errorf("sends %s, a patch: %s", got, event.GetPatchFormat())
				}
			}
			inWhole, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods"}))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = inWhole.Close() }()
			receive(t, inWhole)
			api.Events <- servertest.Modified(largePod(12))
			if event := receive(t, inWhole).GetEvents()[0]; event.GetPatchFormat() != encode.WholeObject || !strings.Contains(contentOf(t, event), "xxx") {
				t.Errorf("without patches, sends %v", event)
			}
		})
	}
}

func TestPatches_NeedAnObjectThatTheClientHas(t *testing.T) {
	api := servertest.PodsAPI()
	api.Objects = []any{largePod(3)}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream := watchPatches(t, s, &kubeconnectv1.WatchRequest{})
	token := receive(t, stream).GetResumeToken()
	api.Events <- servertest.Modified(largePod(11))
	receive(t, stream)
	for name, test := range map[string]struct {
		request *kubeconnectv1.WatchRequest
		want    string
		patch   kubeconnectv1.PatchFormat
	}{
		"the same watch continues":    {&kubeconnectv1.WatchRequest{}, "MODIFIED:a", merge},
		"its holder wants bytes now":  {&kubeconnectv1.WatchRequest{Encoding: asJSON}, "RESET ADDED:a SYNCED", encode.WholeObject},
		"its encoding is spelled out": {&kubeconnectv1.WatchRequest{Encoding: kubeconnectv1.Encoding_ENCODING_STRUCT}, "MODIFIED:a", merge},
	} {
		t.Run(name, func(t *testing.T) {
			request := proto.CloneOf(test.request)
			request.ResumeToken = token
			response := receive(t, watchPatches(t, s, request))
			if got := eventsOf(response); got != test.want || response.GetEvents()[0].GetPatchFormat() != test.patch {
				t.Errorf("starts with %s, a patch: %s", got, response.GetEvents()[0].GetPatchFormat())
			}
		})
	}
	t.Run("without patches", func(t *testing.T) {
		f := followPods(t, s, token)
		f.want("MODIFIED default/a")
		if f.last.GetEvents()[0].GetPatchFormat() != encode.WholeObject {
			t.Error("is sent as a patch")
		}
		behind := &kubeconnectv1.WatchRequest{ResumeToken: f.token}
		if got := eventsOf(receive(t, watchPatches(t, s, behind))); got != "RESET ADDED:a SYNCED" {
			t.Errorf("back to patches, it starts with %s", got)
		}
	})
	t.Run("in patches of another type", func(t *testing.T) {
		asMerges := receive(t, watchPatches(t, s, &kubeconnectv1.WatchRequest{Encoding: asJSON}))
		api.Events <- servertest.Modified(largePod(12))
		receive(t, stream)
		request := &kubeconnectv1.WatchRequest{Encoding: asJSON, PatchFormat: operations, ResumeToken: asMerges.GetResumeToken()}
		response := receive(t, watchPatches(t, s, request))
		if got := eventsOf(response); got != "MODIFIED:a" || response.GetEvents()[0].GetPatchFormat() != operations {
			t.Errorf("starts with %s, a patch: %s", got, response.GetEvents()[0].GetPatchFormat())
		}
	})
}

func TestPatches_UnsupportedFormatsAreRejected(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for encoding, formats := range map[kubeconnectv1.Encoding][]kubeconnectv1.PatchFormat{
		kubeconnectv1.Encoding_ENCODING_PROTOBUF:    {merge, operations},
		kubeconnectv1.Encoding_ENCODING_UNSPECIFIED: {operations},
		asJSON: {3, 77},
	} {
		for _, of := range formats {
			err := watchError(t.Context(), s, &kubeconnectv1.WatchRequest{Resource: "pods", PatchFormat: of, Encoding: encoding})
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "MERGE with STRUCT or JSON") {
				t.Errorf("%s with %s returned %v", of, encoding, err)
			}
		}
	}
}

// An object that is too large was sent as an error, so there is nothing to patch.
func TestPatches_ObjectsSentAsErrorsAreNotPatched(t *testing.T) {
	widget := func(version, number string, size int) any {
		return json.RawMessage(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"` + version +
			`","annotations":{"large":"` + strings.Repeat("x", size) + `"}},"spec":{"number":` + number + `}}`)
	}
	api := servertest.PodsAPI()
	api.Objects = []any{widget("3", "0", encode.MaxObjectBytes)}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "widgets", PatchFormat: merge}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if object := receive(t, stream).GetEvents()[1].GetObject(); object.GetError() == nil {
		t.Fatalf("is sent as %v", object)
	}
	for i, number := range []string{"1", "2"} {
		api.Events <- servertest.Modified(widget(string(rune('4'+i)), number, 1000))
		if event := receive(t, stream).GetEvents()[0]; (event.GetPatchFormat() == merge) != (i == 1) || event.GetObject().GetStruct() == nil {
			t.Errorf("with number %s it sent %v", number, event)
		}
	}
}
