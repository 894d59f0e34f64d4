package e2e_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

const (
	callerCount = 1000
	connections = 5
)

// The resource is events, because no component of the control plane watches them.
func TestUpstream_ThousandCallersShareOneWatch(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	service := harness.StartService(t, cluster(t).Kubeconfig)
	if before := watchesOf(ctx, t, cluster(t), "events"); before != 0 {
		t.Fatalf("%d watches of events exist already", before)
	}

	streams := watchEvents(t, service, namespace)
	for _, stream := range streams {
		stream.Synced(ctx)
	}
	event := createEvent(ctx, t, namespace)
	for _, stream := range streams {
		wantChanges(t, stream.Reaches(ctx, event.ResourceVersion), added(event))
	}
	if watches := watchesOf(ctx, t, cluster(t), "events"); watches != 1 {
		t.Errorf("%d clients cause %d watches at the API server, want one", callerCount, watches)
	}
}

func watchEvents(t *testing.T, service *harness.Service, namespace string) []*record.Stream {
	var streams []*record.Stream
	for range connections {
		client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
		for range callerCount / connections {
			streams = append(streams, record.Watch(t, client, &kubeconnectv1.WatchRequest{
				Resource: "events.v1.", Namespace: namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
			}))
		}
	}
	return streams
}

func createEvent(ctx context.Context, t *testing.T, namespace string) *corev1.Event {
	t.Helper()
	event, err := cluster(t).Client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "one"},
		InvolvedObject: corev1.ObjectReference{Kind: "Namespace", Name: namespace, Namespace: namespace},
		Message:        "something has happened",
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return event
}
