package queries_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

const (
	callerCount = 1000
	connections = 5
)

// The resource is events, because no component of the control plane watches them.
func TestUpstream_ThousandCallersShareOneWatch(t *testing.T) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	if before := watchesOf(ctx, t, kit.Cluster(t), "events"); before != 0 {
		t.Fatalf("%d watches of events exist already", before)
	}

	streams := watchEvents(t, service, namespace)
	for _, stream := range streams {
		stream.Synced(ctx)
	}
	event := createEvent(ctx, t, namespace)
	for _, stream := range streams {
		kit.WantChanges(t, stream.Reaches(ctx, event.ResourceVersion), kit.Added(event))
	}
	// The hub has a second watch for a moment when it asks the API server how far its own one is.
	kit.Eventually(ctx, t, fmt.Sprintf("%d clients have one watch at the API server", callerCount), func() error {
		if watches := watchesOf(ctx, t, kit.Cluster(t), "events"); watches != 1 {
			return fmt.Errorf("there are %d", watches)
		}
		return nil
	})
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
	event, err := kit.Cluster(t).Client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "one"},
		InvolvedObject: corev1.ObjectReference{Kind: "Namespace", Name: namespace, Namespace: namespace},
		Message:        "something has happened",
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return event
}
