package queries_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// patchForm is a patch format with an encoding.
type patchForm struct {
	patches  kubeconnectv1.PatchFormat
	encoding kubeconnectv1.Encoding
}

func (f patchForm) String() string { return f.patches.String() + " " + f.encoding.String() }

// operations are patches that can change elements of lists.
var operations = patchForm{kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON, kubeconnectv1.Encoding_ENCODING_JSON}

// patchForms are all supported forms.
var patchForms = []patchForm{
	{kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE, kubeconnectv1.Encoding_ENCODING_STRUCT},
	{kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE, kubeconnectv1.Encoding_ENCODING_JSON},
	operations,
}

// watchInPatches returns a watch of a resource in a namespace, with patches.
func watchInPatches(resource, namespace string, form patchForm) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace, Encoding: form.encoding, PatchFormat: form.patches}
}

// wantHeldAsListed fails the test unless a client's state is exactly that of a list, byte for byte
// or value for value.
func wantHeldAsListed(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchRequest, model validate.Model) {
	t.Helper()
	list, err := client.List(ctx, &kubeconnectv1.ListRequest{
		Resource: request.GetResource(), Namespace: request.GetNamespace(), Encoding: request.GetEncoding(), MinResourceVersion: model.Version,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.GetObjects()) != len(model.Objects) || len(model.Objects) == 0 {
		t.Errorf("the client has %d objects, the list %d", len(model.Objects), len(list.GetObjects()))
	}
	for _, object := range list.GetObjects() {
		if held := model.Objects[validate.KeyOf(object)]; !proto.Equal(inOneForm(t, held), inOneForm(t, object)) {
			t.Errorf("the client has %v, the list %v", held, object)
		}
	}
}

// inOneForm returns an object with the members of its JSON in a fixed order.
func inOneForm(t *testing.T, object *kubeconnectv1.Object) *kubeconnectv1.Object {
	t.Helper()
	if object.GetJson() == nil {
		return object
	}
	var content any
	if err := json.Unmarshal(object.GetJson(), &content); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	object = proto.CloneOf(object)
	object.Content = &kubeconnectv1.Object_Json{Json: text}
	return object
}

func TestWatchPatches_ArriveOverEachProtocolAndEncoding(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
		gadgets.Define("v1")
		kit.UntilListed(ctx, t, client, gadgets)
		gadgets.Create("v1", namespace, "one", map[string]any{"color": "red", "list": []any{map[string]any{"gone": nil}}, "big": map[string]any{"number": int64(1)<<53 + 1}})
		pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
		pod, err := pods.Create(ctx, kit.BusyPod(0), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		requests, streams := map[*record.Stream]*kubeconnectv1.WatchRequest{}, map[string][]*record.Stream{}
		for _, resource := range []string{"pods", gadgets.Name()} {
			for _, form := range patchForms {
				request := watchInPatches(resource, namespace, form)
				stream := record.Watch(t, client, request)
				stream.Synced(ctx)
				requests[stream], streams[resource] = request, append(streams[resource], stream)
			}
		}
		reached := map[string]string{}
		for _, patch := range []string{
			`{"metadata":{"annotations":{"a":"1","b/c":"\"é\""}}}`,
			`{"metadata":{"annotations":{"a":null,"b/c":"2"},"labels":null}}`,
			`{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`,
			`{"metadata":{"finalizers":null}}`,
		} {
			if pod, err = pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			gadget, err := gadgets.Objects("v1", namespace).Patch(ctx, "one", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reached["pods"], reached[gadgets.Name()] = pod.ResourceVersion, gadget.GetResourceVersion()
		}
		for resource, streams := range streams {
			for _, stream := range streams {
				view := stream.Reaches(ctx, reached[resource])
				if resource == "pods" && view.Patches != 4 {
					t.Errorf("%d changes of the pod were sent as patches", view.Patches)
				}
				wantHeldAsListed(ctx, t, client, requests[stream], view.Model)
			}
		}
	})
}

// Changes of the status of pods are most of the events of a cluster.
func TestWatchPatches_StatusChangesAreSmall(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, kit.BusyPod(0), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, form := range patchForms {
		objects := watchInPatches("pods", namespace, form)
		objects.PatchFormat = kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED
		var sizes []int
		for _, request := range []*kubeconnectv1.WatchRequest{objects, watchInPatches("pods", namespace, form)} {
			event := nextChange(ctx, t, client, request, func() { markReady(ctx, t, namespace) })
			sizes = append(sizes, proto.Size(event))
		}
		t.Logf("%s: a change of a pod's status has %d bytes as an object, %d as a patch", form, sizes[0], sizes[1])
		if sizes[1]*10 > sizes[0] {
			t.Errorf("%s: a patch has %d bytes, the object %d", form, sizes[1], sizes[0])
		}
	}
}

// nextChange opens a watch, makes a change, and returns its event.
func nextChange(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchRequest, change func()) *kubeconnectv1.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for changed := false; stream.Receive(); {
		for _, event := range stream.Msg().GetEvents() {
			switch {
			case changed && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
				return event
			case event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
				changed = true
				change()
			}
		}
	}
	t.Fatal(stream.Err())
	return nil
}

// A pod's readiness is in two of its lists: an operation changes one element where a merge patch
// contains the complete lists.
func TestWatchPatches_OperationsChangeSingleElements(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
	pod, err := pods.Create(ctx, kit.BusyPod(0), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := func(status corev1.ConditionStatus) *corev1.Pod {
		pod.Status.Conditions = nil
		for _, conditionType := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: conditionType, Status: corev1.ConditionTrue, Reason: "Probed", Message: "the message of the kubelet"})
		}
		pod.Status.Conditions[3].Status = status
		if pod, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	first := ready(corev1.ConditionFalse)
	kit.UntilRead(ctx, t, client, "pods", first)
	changed := ""
	event := nextChange(ctx, t, client, watchInPatches("pods", namespace, operations), func() {
		changed = ready(corev1.ConditionTrue).ResourceVersion
	})
	want := fmt.Sprintf(`[{"op":"replace","path":"/metadata/resourceVersion","value":%q},{"op":"replace","path":"/status/conditions/3/status","value":"True"}]`, changed)
	if got := string(event.GetObject().GetJson()); got != want || event.GetPatchFormat() != operations.patches {
		t.Errorf("got %s, a patch of format %s, want %s", got, event.GetPatchFormat(), want)
	}
}

// markReady adds a condition to the status of the pod of a namespace.
func markReady(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	pods := kit.Cluster(t).Client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(len(list.Items), err)
	}
	pod := &list.Items[0]
	message := fmt.Sprintf("after version %s", pod.ResourceVersion)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "Probing", Message: message}}
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The client resumes with its state: the first change after the cut is a patch to that state.
func TestWatchPatches_ContinueAfterAResumeButNotInACatchUp(t *testing.T) {
	t.Parallel()
	for _, form := range patchForms {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			first := write.Large("one")
			kit.UntilRead(ctx, t, client, "configmaps", first)
			request := watchInPatches("configmaps", namespace, form)
			stream := record.Watch(t, client, request)
			stream.Synced(ctx)
			view := stream.Reaches(ctx, write.Touch("one", "1").ResourceVersion)
			point := kit.LastPoint(t, view)
			stream.Close()
			write.Touch("one", "2")
			last := write.Touch("one", "3").ResourceVersion
			kit.UntilRead(ctx, t, client, "configmaps", write.Get("one"))

			resumed := record.Resume(t, client, request, point).Reaches(ctx, last)
			if resumed.Patches != 2 || resumed.Model.Resets != 1 {
				t.Errorf("%d patches, %d resets", resumed.Patches, resumed.Model.Resets)
			}
			wantHeldAsListed(ctx, t, client, request, resumed.Model)

			another := kit.NewClient(t, kit.Cluster(t)) // its window has no changes from before its start
			elsewhere := record.ResumeElsewhere(t, another, request, point)
			if view := elsewhere.Reaches(ctx, last); view.Patches != 0 {
				t.Errorf("at another replica: %d patches, want none", view.Patches)
			}
			view = elsewhere.Reaches(ctx, write.Touch("one", "4").ResourceVersion)
			if view.Patches != 1 {
				t.Errorf("after a latest state: %d patches, want none", view.Patches)
			}
			wantHeldAsListed(ctx, t, another, request, view.Model)
		})
	}
}

func TestWatchPatches_ApplyToTheNewSnapshotAfterAResync(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	controlPlane := kit.CompactingCluster(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	client := kit.NewClient(t, controlPlane)
	kit.UntilRead(ctx, t, client, "configmaps", write.Large("one"))
	request := watchInPatches("configmaps", namespace, operations)
	stream := record.Watch(t, client, request)
	point := kit.LastPoint(t, stream.Synced(ctx))
	stream.Close()
	kit.UntilCompacted(ctx, t, controlPlane, write.Touch("one", "1").ResourceVersion)

	another := kit.NewClient(t, controlPlane)
	resumed := record.ResumeElsewhere(t, another, request, point)
	if view := resumed.Reaches(ctx, write.Get("one").ResourceVersion); view.Model.Resets != 2 || view.Patches != 0 {
		t.Errorf("%d resets, %d patches", view.Model.Resets, view.Patches)
	}
	view := resumed.Reaches(ctx, write.Touch("one", "2").ResourceVersion)
	if view.Patches != 1 {
		t.Errorf("%d patches to the new snapshot", view.Patches)
	}
	wantHeldAsListed(ctx, t, another, request, view.Model)
}

func TestWatchPatches_UnsupportedFormatsAreRejected(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	client := kit.NewClient(t, kit.Cluster(t))
	for _, form := range []patchForm{
		{kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE, kubeconnectv1.Encoding_ENCODING_PROTOBUF},
		{kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON, kubeconnectv1.Encoding_ENCODING_PROTOBUF},
		{kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON, kubeconnectv1.Encoding_ENCODING_STRUCT},
		{3, kubeconnectv1.Encoding_ENCODING_JSON},
		{77, kubeconnectv1.Encoding_ENCODING_JSON},
	} {
		err := kit.WatchError(ctx, client, watchInPatches("pods", "default", form))
		kit.WantError(t, err, connect.CodeInvalidArgument, "patch_format", "MERGE with STRUCT or JSON")
	}
}

// Two services over links that break, and clients that move between them: the state of each client
// is validated, content included, against what was written.
func TestWatchPatches_StayCorrectUnderFaults(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	var links []*harness.Proxy
	var services []*harness.Service
	for range 2 {
		link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
		links = append(links, link)
		services = append(services, harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address())))
	}
	group := kit.NewTrafficGroup(ctx, t, kit.NewTestbed(ctx, t, kit.Cluster(t)), kit.NewSeed(t), kit.WatchClients(t, services...)...)
	group.AtWork(ctx, kit.BusyWrites)
	for _, link := range links {
		link.Cut()
		group.AtWork(ctx, kit.BusyWrites)
		kit.InjectFault(ctx, link, harness.Frozen)
		group.AtWork(ctx, kit.BusyWrites)
	}
	group.CatchUp(validate.Anywhere)
	total := group.Finish(ctx, validate.Evidence{})
	t.Log(total)
	if total.Patches == 0 {
		t.Error("no event was a patch")
	}
}
