package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// patchForm is a patch type with an encoding.
type patchForm struct {
	patches  kubeconnectv1.PatchType
	encoding kubeconnectv1.Encoding
}

func (f patchForm) String() string { return f.patches.String() + " " + f.encoding.String() }

// operations are patches that can change elements of lists.
var operations = patchForm{kubeconnectv1.PatchType_PATCH_TYPE_JSON, kubeconnectv1.Encoding_ENCODING_JSON}

// patchForms are all supported forms.
var patchForms = []patchForm{
	{kubeconnectv1.PatchType_PATCH_TYPE_MERGE, kubeconnectv1.Encoding_ENCODING_STRUCT},
	{kubeconnectv1.PatchType_PATCH_TYPE_MERGE, kubeconnectv1.Encoding_ENCODING_JSON},
	operations,
}

// watchInPatches returns a watch of a resource in a namespace, with patches.
func watchInPatches(resource, namespace string, form patchForm) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{Resource: resource, Namespace: namespace, Encoding: form.encoding, Patches: form.patches}
}

// wantHeldAsListed fails the test unless a client's state is exactly that of a list, byte for byte
// or value for value.
func wantHeldAsListed(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.WatchRequest, model validate.Model) {
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
	overEachProtocol(t, cluster(t), func(t *testing.T, client resourceClient) {
		ctx := deadline(t)
		namespace := newNamespace(ctx, t, cluster(t))
		gadgets := newCustomResource(ctx, t, cluster(t), namespace)
		gadgets.define("v1")
		untilListed(ctx, t, client, gadgets)
		gadgets.create("v1", namespace, "one", map[string]any{"color": "red", "list": []any{map[string]any{"gone": nil}}, "big": map[string]any{"number": int64(1)<<53 + 1}})
		pods := cluster(t).Client.CoreV1().Pods(namespace)
		pod, err := pods.Create(ctx, busyPod(0), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		requests, streams := map[*record.Stream]*kubeconnectv1.WatchRequest{}, map[string][]*record.Stream{}
		for _, resource := range []string{"pods", gadgets.name()} {
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
			gadget, err := gadgets.objects("v1", namespace).Patch(ctx, "one", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reached["pods"], reached[gadgets.name()] = pod.ResourceVersion, gadget.GetResourceVersion()
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
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	pods := cluster(t).Client.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, busyPod(0), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, form := range patchForms {
		objects := watchInPatches("pods", namespace, form)
		objects.Patches = kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED
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
func nextChange(ctx context.Context, t *testing.T, client resourceClient, request *kubeconnectv1.WatchRequest, change func()) *kubeconnectv1.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Watch(ctx, request)
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
	ctx := deadline(t)
	namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
	pods := cluster(t).Client.CoreV1().Pods(namespace)
	pod, err := pods.Create(ctx, busyPod(0), metav1.CreateOptions{})
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
	untilRead(ctx, t, client, "pods", first)
	changed := ""
	event := nextChange(ctx, t, client, watchInPatches("pods", namespace, operations), func() {
		changed = ready(corev1.ConditionTrue).ResourceVersion
	})
	want := fmt.Sprintf(`[{"op":"replace","path":"/metadata/resourceVersion","value":%q},{"op":"replace","path":"/status/conditions/3/status","value":"True"}]`, changed)
	if got := string(event.GetObject().GetJson()); got != want || event.GetPatch() != operations.patches {
		t.Errorf("got %s, a patch of type %s, want %s", got, event.GetPatch(), want)
	}
}

// markReady adds a condition to the status of the pod of a namespace.
func markReady(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	pods := cluster(t).Client.CoreV1().Pods(namespace)
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
			ctx := deadline(t)
			namespace, client := newNamespace(ctx, t, cluster(t)), newClient(t, cluster(t))
			write := configMapsIn(ctx, t, cluster(t), namespace)
			first := write.large("one")
			untilRead(ctx, t, client, "configmaps", first)
			request := watchInPatches("configmaps", namespace, form)
			stream := record.Watch(t, client, request)
			stream.Synced(ctx)
			view := stream.Reaches(ctx, write.touch("one", "1").ResourceVersion)
			point := lastPoint(t, view)
			stream.Close()
			write.touch("one", "2")
			last := write.touch("one", "3").ResourceVersion
			untilRead(ctx, t, client, "configmaps", write.get("one"))

			resumed := record.Resume(t, client, request, point).Reaches(ctx, last)
			if resumed.Patches != 2 || resumed.Model.Resets != 1 {
				t.Errorf("%d patches, %d resets", resumed.Patches, resumed.Model.Resets)
			}
			wantHeldAsListed(ctx, t, client, request, resumed.Model)

			another := newClient(t, cluster(t)) // its window has no changes from before its start
			elsewhere := record.ResumeElsewhere(t, another, request, point)
			if view := elsewhere.Reaches(ctx, last); view.Patches != 0 {
				t.Errorf("at another replica: %d patches, want none", view.Patches)
			}
			view = elsewhere.Reaches(ctx, write.touch("one", "4").ResourceVersion)
			if view.Patches != 1 {
				t.Errorf("after a latest state: %d patches, want none", view.Patches)
			}
			wantHeldAsListed(ctx, t, another, request, view.Model)
		})
	}
}

// large creates an object that is large enough for patches to be smaller.
func (c configMaps) large(name string) *corev1.ConfigMap {
	c.t.Helper()
	c.create(name, nil)
	return c.patch(name, map[string]any{"data": map[string]any{"large": fmt.Sprintf("%01000d", 0)}})
}

func TestWatchPatches_ApplyToTheNewSnapshotAfterAResync(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	controlPlane := forgetfulCluster(t)
	namespace := newNamespace(ctx, t, controlPlane)
	write := configMapsIn(ctx, t, controlPlane, namespace)
	client := newClient(t, controlPlane)
	untilRead(ctx, t, client, "configmaps", write.large("one"))
	request := watchInPatches("configmaps", namespace, operations)
	stream := record.Watch(t, client, request)
	point := lastPoint(t, stream.Synced(ctx))
	stream.Close()
	untilForgotten(ctx, t, controlPlane, write.touch("one", "1").ResourceVersion)

	another := newClient(t, controlPlane)
	resumed := record.ResumeElsewhere(t, another, request, point)
	if view := resumed.Reaches(ctx, write.get("one").ResourceVersion); view.Model.Resets != 2 || view.Patches != 0 {
		t.Errorf("%d resets, %d patches", view.Model.Resets, view.Patches)
	}
	view := resumed.Reaches(ctx, write.touch("one", "2").ResourceVersion)
	if view.Patches != 1 {
		t.Errorf("%d patches to the new snapshot", view.Patches)
	}
	wantHeldAsListed(ctx, t, another, request, view.Model)
}

func TestWatchPatches_UnsupportedTypesAreRejected(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	client := newClient(t, cluster(t))
	for _, form := range []patchForm{
		{kubeconnectv1.PatchType_PATCH_TYPE_MERGE, kubeconnectv1.Encoding_ENCODING_PROTOBUF},
		{kubeconnectv1.PatchType_PATCH_TYPE_JSON, kubeconnectv1.Encoding_ENCODING_PROTOBUF},
		{kubeconnectv1.PatchType_PATCH_TYPE_JSON, kubeconnectv1.Encoding_ENCODING_STRUCT},
		{kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE, kubeconnectv1.Encoding_ENCODING_JSON},
		{kubeconnectv1.PatchType_PATCH_TYPE_APPLY, kubeconnectv1.Encoding_ENCODING_JSON},
		{77, kubeconnectv1.Encoding_ENCODING_JSON},
	} {
		err := watchError(ctx, client, watchInPatches("pods", "default", form))
		wantError(t, err, connect.CodeInvalidArgument, "patches", "MERGE with STRUCT or JSON")
	}
}

// Two services over links that break, and clients that move between them: the state of each client
// is validated, content included, against what was written.
func TestWatchPatches_StayCorrectUnderFaults(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, faultPatience)
	var links []*harness.Proxy
	var services []*harness.Service
	for range 2 {
		link := harness.StartProxy(t, cluster(t).Address(), harness.None)
		links = append(links, link)
		services = append(services, harness.StartService(t, harness.KubeconfigTo(t, cluster(t).Kubeconfig, link.Address())))
	}
	group := newTrafficGroup(ctx, t, newTestbed(ctx, t, cluster(t)), newSeed(t), callersOf(t, services...)...)
	group.atWork(ctx, busy)
	for _, link := range links {
		link.Cut()
		group.atWork(ctx, busy)
		fail(ctx, link, harness.Frozen)
		group.atWork(ctx, busy)
	}
	group.catchUp(validate.Anywhere)
	total := group.finish(ctx, validate.Evidence{})
	t.Log(total)
	if total.patches == 0 {
		t.Error("no event was a patch")
	}
}
