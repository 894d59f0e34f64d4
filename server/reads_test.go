package server

import (
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

const asJSON = kubeconnectv1.Encoding_ENCODING_JSON

func TestGet_ReturnsOneObject(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	answer, err := s.resources.Get(t.Context(), &kubeconnectv1.GetRequest{Resource: "pod", Namespace: "default", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if kind := answer.GetResource(); kind.GetKind() != "Pod" || kind.GetPlural() != "pods" || kind.GetVersion() != "v1" ||
		!kind.GetNamespaced() || kind.GetProtobufType() != "k8s.io.api.core.v1.Pod" {
		t.Errorf("the kind is %v", kind)
	}
	if node := answer.GetObject().GetStruct().AsMap()["spec"].(map[string]any)["nodeName"]; node != "node-1" {
		t.Errorf("the node is %v", node)
	}
}

func TestList_ReturnsASelectionAtOneVersion(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		request *kubeconnectv1.ListRequest
		want    string
	}{
		"all":        {&kubeconnectv1.ListRequest{Resource: "pods"}, "a b"},
		"by name":    {&kubeconnectv1.ListRequest{Resource: "pods", FieldSelector: "metadata.name=b"}, "b"},
		"by node":    {&kubeconnectv1.ListRequest{Resource: "pods", FieldSelector: "spec.nodeName=node-1"}, "a b"},
		"none":       {&kubeconnectv1.ListRequest{Resource: "pods", Namespace: "other"}, ""},
		"one a page": {&kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			test.request.Encoding = asJSON
			answer, err := s.resources.List(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, object := range answer.GetObjects() {
				names = append(names, object.GetName())
			}
			if strings.Join(names, " ") != test.want || answer.GetResourceVersion() != "10" {
				t.Errorf("returned %v at %s", names, answer.GetResourceVersion())
			}
		})
	}
}

func TestReads_ErrorsHaveTheirCodes(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	get := func(request *kubeconnectv1.GetRequest) error {
		_, err := s.resources.Get(t.Context(), request)
		return err
	}
	list := func(request *kubeconnectv1.ListRequest) error {
		_, err := s.resources.List(t.Context(), request)
		return err
	}
	watch := func(request *kubeconnectv1.WatchRequest) error {
		stream, err := responses.Of(s.resources.Watch(t.Context(), request))
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		stream.Receive()
		return stream.Err()
	}
	for name, test := range map[string]struct {
		err  error
		code connect.Code
	}{
		"no resource":                     {get(&kubeconnectv1.GetRequest{Name: "a"}), connect.CodeInvalidArgument},
		"a resource that is not served":   {get(&kubeconnectv1.GetRequest{Resource: "podz", Name: "a"}), connect.CodeNotFound},
		"an object that is not there":     {get(&kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "x"}), connect.CodeNotFound},
		"no name":                         {get(&kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default"}), connect.CodeInvalidArgument},
		"no namespace":                    {get(&kubeconnectv1.GetRequest{Resource: "pods", Name: "a"}), connect.CodeInvalidArgument},
		"a namespace too many":            {get(&kubeconnectv1.GetRequest{Resource: "nodes", Namespace: "default", Name: "a"}), connect.CodeInvalidArgument},
		"a name with a slash":             {get(&kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a/b"}), connect.CodeInvalidArgument},
		"a resource that cannot be read":  {get(&kubeconnectv1.GetRequest{Resource: "bindings", Namespace: "default", Name: "a"}), connect.CodeUnimplemented},
		"an encoding that is not known":   {get(&kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a", Encoding: 99}), connect.CodeInvalidArgument},
		"a subresource":                   {get(&kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a", Subresource: "status"}), connect.CodeNotFound},
		"a selector that cannot be read":  {list(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "("}), connect.CodeInvalidArgument},
		"a field that is not supported":   {list(&kubeconnectv1.ListRequest{Resource: "pods", FieldSelector: "spec.x=y"}), connect.CodeInvalidArgument},
		"a page below 0":                  {list(&kubeconnectv1.ListRequest{Resource: "pods", PageSize: -1}), connect.CodeInvalidArgument},
		"a page token that is not ours":   {list(&kubeconnectv1.ListRequest{Resource: "pods", PageToken: "x"}), connect.CodeInvalidArgument},
		"a malformed filter":              {list(&kubeconnectv1.ListRequest{Resource: "pods", Filter: "object."}), connect.CodeInvalidArgument},
		"an element by its number":        {list(&kubeconnectv1.ListRequest{Resource: "pods", Fields: []string{"spec.containers[0]"}}), connect.CodeInvalidArgument},
		"a consistency that is not known": {list(&kubeconnectv1.ListRequest{Resource: "pods", Consistency: 99}), connect.CodeInvalidArgument},
		"a watch of what cannot be":       {watch(&kubeconnectv1.WatchRequest{Resource: "bindings"}), connect.CodeUnimplemented},
		"a watch of what is not served":   {watch(&kubeconnectv1.WatchRequest{Resource: "podz"}), connect.CodeNotFound},
		"a watch of a name in no space":   {watch(&kubeconnectv1.WatchRequest{Resource: "pods", Name: "a"}), connect.CodeInvalidArgument},
		"a watch in an unknown encoding":  {watch(&kubeconnectv1.WatchRequest{Resource: "pods", Encoding: 99}), connect.CodeInvalidArgument},
		"a watch by a malformed selector": {watch(&kubeconnectv1.WatchRequest{Resource: "pods", LabelSelector: "("}), connect.CodeInvalidArgument},
		"a watch by a malformed filter":   {watch(&kubeconnectv1.WatchRequest{Resource: "pods", Filter: "1"}), connect.CodeInvalidArgument},
	} {
		if code := connect.CodeOf(test.err); code != test.code {
			t.Errorf("%s: %s (%v), want %s", name, code, test.err, test.code)
		}
	}
}

func TestWatch_SendsSnapshotThenChanges(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Encoding: asJSON}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	first := receive(t, stream)
	if got := eventsOf(first); got != "RESET ADDED:a ADDED:b SYNCED" || first.GetResource().GetKind() != "Pod" {
		t.Errorf("starts with %s of kind %v", got, first.GetResource())
	}
	s.api.Events <- servertest.Modified(objecttest.Pod("a", 11))
	second := receive(t, stream)
	if got := eventsOf(second); got != "MODIFIED:a" || second.GetResource() != nil || second.GetEvents()[0].GetResourceVersion() != "11" {
		t.Errorf("continues with %v", second)
	}
}

func receiveAny(t *testing.T, stream *responses.Stream[kubeconnectv1.WatchResponse]) *kubeconnectv1.WatchResponse {
	t.Helper()
	if !stream.Receive() {
		t.Fatalf("the stream has ended: %v", stream.Err())
	}
	return stream.Msg()
}

// receive returns the next message, apart from those of a stream that waits for a first snapshot:
// on a busy machine a snapshot can take longer than waitingAfter.
func receive(t *testing.T, stream *responses.Stream[kubeconnectv1.WatchResponse]) *kubeconnectv1.WatchResponse {
	t.Helper()
	response := receiveAny(t, stream)
	for isWaiting(response) {
		response = receiveAny(t, stream)
	}
	return response
}

func isWaiting(response *kubeconnectv1.WatchResponse) bool {
	events := response.GetEvents()
	return len(events) == 1 && events[0].GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && events[0].GetResourceVersion() == ""
}

func eventsOf(response *kubeconnectv1.WatchResponse) string {
	var all []string
	for _, event := range response.GetEvents() {
		text := strings.TrimPrefix(event.GetType().String(), "EVENT_TYPE_")
		if name := event.GetObject().GetName(); name != "" {
			text += ":" + name
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// TestWatch_LargeSnapshotsUseSeveralMessages also verifies that the buffers of messages are not
// reused before they have been sent.
func TestWatch_LargeSnapshotsUseSeveralMessages(t *testing.T) {
	const n = 10
	api := servertest.PodsAPI()
	api.Objects = nil
	for i := range n {
		pod := objecttest.Pod(string(rune('a'+i)), i+1)
		pod.Annotations = map[string]string{"large": strings.Repeat("x", 400<<10)}
		api.Objects = append(api.Objects, pod)
	}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Encoding: asJSON}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var all []string
	messages := 0
	for len(all) < n+2 {
		response := receive(t, stream)
		if messages++; len(response.GetEvents()) > 4 || (response.GetResource() != nil) != (messages == 1) {
			t.Errorf("message %d has %d events and the kind %v", messages, len(response.GetEvents()), response.GetResource())
		}
		all = append(all, strings.Fields(eventsOf(response))...)
	}
	if got := strings.Join(all, " "); got != "RESET ADDED:a ADDED:b ADDED:c ADDED:d ADDED:e ADDED:f ADDED:g ADDED:h ADDED:i ADDED:j SYNCED" {
		t.Errorf("sends %s", got)
	}
}

func TestShutdown_EndsOnlyStreams(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	receive(t, stream)
	s.stop()
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnavailable || statustest.Of(t, stream.Err()).GetReason() != "ServiceUnavailable" {
		t.Errorf("ends with %v", stream.Err())
	}
	if _, err := s.resources.Get(t.Context(), &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a"}); err != nil {
		t.Errorf("another call: %v", err)
	}
}
