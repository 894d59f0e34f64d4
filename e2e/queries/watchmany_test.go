package queries_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// many is a client with several watches in one stream. It is owned by the test's goroutine.
type many struct {
	t          *testing.T
	client     kit.ResourceClient
	request    *kubeconnectv1.WatchManyRequest
	stream     *responses.Stream[kubeconnectv1.WatchManyResponse]
	cancel     context.CancelFunc
	recordings []validate.Recording
	models     []validate.Model
	evidence   func() validate.Evidence
}

// followMany opens a stream of several watches. At the end of the test each watch is validated like
// a stream of its own.
func followMany(ctx context.Context, t *testing.T, client kit.ResourceClient, watches ...*kubeconnectv1.WatchRequest) *many {
	t.Helper()
	m := &many{t: t, client: client, request: &kubeconnectv1.WatchManyRequest{Watches: harness.WatchSpecs(watches...)}, models: make([]validate.Model, len(watches))}
	for i, watch := range watches {
		selection, err := validate.SelectionOf(watch)
		if err != nil {
			t.Fatal(err)
		}
		m.recordings = append(m.recordings, validate.Recording{Name: fmt.Sprintf("watch %d", i), Selection: selection, CatchUp: validate.Nowhere})
	}
	m.call(ctx)
	harness.Cleanup(t, m.judge)
	return m
}

// call opens the stream with the last resume token.
func (m *many) call(ctx context.Context) {
	m.t.Helper()
	ctx, m.cancel = context.WithCancel(ctx)
	var err error
	if m.stream, err = responses.Of(m.client.WatchMany(ctx, m.request)); err != nil {
		m.t.Fatal(err)
	}
	for i := range m.recordings {
		call := validate.Call{Began: time.Now()}
		if m.models[i].Synced {
			call.Token = m.request.ResumeToken
		}
		m.recordings[i].Calls = append(m.recordings[i].Calls, call)
	}
}

// cut ends the stream at any point, and opens another one with the last token.
func (m *many) cut(ctx context.Context) {
	m.t.Helper()
	m.close()
	m.call(ctx)
}

func (m *many) close() {
	m.cancel()
	_ = m.stream.Close()
	for i := range m.recordings {
		call := m.lastCall(i)
		call.Ended, call.Err = time.Now(), connect.NewError(connect.CodeCanceled, context.Canceled.Error())
	}
}

func (m *many) lastCall(watch int) *validate.Call {
	calls := m.recordings[watch].Calls
	return &calls[len(calls)-1]
}

// receive receives the next message; false if the stream has ended.
func (m *many) receive() bool {
	if !m.stream.Receive() {
		return false
	}
	message := m.stream.Msg()
	if m.request.ResumeToken = message.GetResumeToken(); m.request.ResumeToken == "" {
		m.t.Error("a message has no token")
	}
	watch, response := message.GetWatchIndex(), validate.ResponseOf(message.GetResponse())
	if response.Token != "" {
		m.t.Errorf("watch %d has its own token", watch)
	}
	for i, event := range response.Events {
		response.Events[i] = m.models[watch].Whole(event)
		m.models[watch].Apply(response.Events[i])
	}
	if m.models[watch].Synced {
		response.Token = m.request.ResumeToken // a watch that cannot resume receives a RESET
	}
	call := m.lastCall(int(watch))
	call.Responses = append(call.Responses, response)
	return true
}

// until receives messages until a condition holds for the clients' states.
func (m *many) until(description string, holds func([]validate.Model) bool) {
	m.t.Helper()
	for !holds(m.models) {
		if !m.receive() {
			m.t.Fatalf("the stream ended before %s: %v", description, m.stream.Err())
		}
	}
}

// holds blocks until the watches have exactly these objects.
func (m *many) holds(want ...kit.Versions) {
	m.t.Helper()
	m.until("the watches have the objects of the cluster", func(models []validate.Model) bool {
		for i := range models {
			if !models[i].Synced || !maps.Equal(kit.HeldVersions(models[i]), want[i]) {
				return false
			}
		}
		return true
	})
}

// end blocks until the stream ends by itself, and returns its error.
func (m *many) end() error {
	for m.receive() {
	}
	return m.stream.Err()
}

func (m *many) judge() {
	m.close()
	evidence := validate.Evidence{}
	if m.evidence != nil {
		evidence = m.evidence()
	}
	for i := range m.recordings {
		kit.WantNoViolation(m.t, &m.recordings[i], evidence)
	}
}

func TestWatchMany_ResumesWithoutLossOrRepetition(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
		gadgets.Define("v1")
		kit.UntilListed(ctx, t, client, gadgets)
		write, pods := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace), kit.Cluster(t).Client.CoreV1().Pods(namespace)
		config, gadget := write.Create("one", nil), gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
		pod, err := pods.Create(ctx, kit.UnscheduledPod("one"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ones := kit.InNamespace("cm", namespace)
		ones.FieldSelector = "metadata.name=one"
		m := followMany(ctx, t, client, kit.InNamespace("pods", namespace), ones, kit.InNamespace(gadgets.Name(), namespace))
		m.holds(kit.VersionsOf(pod), kit.VersionsOf(config), kit.VersionsOf(gadget))
		for i := range 6 {
			label := fmt.Appendf(nil, `{"metadata":{"labels":{"step":"%d"}}}`, i)
			if pod, err = pods.Patch(ctx, "one", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				m.receive()
				m.cut(ctx)
			}
			config = write.Touch("one", fmt.Sprint(i))
			if gadget, err = gadgets.Objects("v1", namespace).Patch(ctx, "one", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			m.holds(kit.VersionsOf(pod), kit.VersionsOf(config), kit.VersionsOf(gadget))
		}
		for i, model := range m.models {
			if model.Resets != 1 {
				t.Errorf("watch %d: %d resets", i, model.Resets)
			}
		}
	})
}

func TestWatchMany_EndsWithADeletedCustomResource(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	kit.UntilListed(ctx, t, client, gadgets)
	m := followMany(ctx, t, client, kit.InNamespace("configmaps", "nowhere"), kit.InNamespace(gadgets.Name(), namespace))
	m.holds(kit.Versions{}, kit.Versions{})
	gadgets.Remove()
	err := m.end()
	kit.WantError(t, err, connect.CodeNotFound, "watch 1 ("+gadgets.Name()+"): ", gadgets.Name())
	kit.WantStatus(t, err, "NotFound")
	m.call(ctx)
	kit.WantError(t, m.end(), connect.CodeNotFound, "watch 1 ("+gadgets.Name()+"): ")
}

func TestWatchMany_LostPermissionAffectsItsWatchOnly(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	one, two := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	mine, lost := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), one).Create("mine", nil), kit.ConfigMapsIn(ctx, t, kit.Cluster(t), two).Create("mine", nil)
	caller := kit.RbacAccount{Account: kit.NewAccount(ctx, t, one, "reader"), Resource: "configmaps"}
	caller.Grant(one)
	caller.Grant(two)
	client := caller.Calling(service, harness.GRPC).Resources
	kit.Eventually(ctx, t, "two namespaces are listed", func() error { return kit.ListsNamespaces(ctx, client, one, two) })
	m := followMany(ctx, t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps"}, kit.InNamespace("configmaps", one))
	m.evidence = caller.Evidence
	m.until("both are in sync", func(models []validate.Model) bool { return models[0].Synced && models[1].Synced })
	key := validate.KeyOf(&kubeconnectv1.Object{Namespace: two, Name: lost.Name})
	if m.models[0].Objects[key] == nil {
		t.Errorf("%s is not delivered", key)
	}
	caller.Revoke(two)
	m.until("the namespace is deleted from the stream", func(models []validate.Model) bool { return models[0].Objects[key] == nil })
	if held := kit.HeldVersions(m.models[1]); held[validate.KeyOf(&kubeconnectv1.Object{Namespace: one, Name: mine.Name})] == "" || len(m.recordings[1].Calls) != 1 {
		t.Errorf("the other watch has %v", held)
	}
	touched := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), one).Touch("mine", "touched")
	reached := func(model validate.Model) bool {
		return kit.HeldVersions(model)[validate.KeyOf(&kubeconnectv1.Object{Namespace: one, Name: "mine"})] == touched.ResourceVersion
	}
	m.until("both continue", func(models []validate.Model) bool { return reached(models[0]) && reached(models[1]) })
}
