package queries_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// TestMinResourceVersion_OfAnotherResourceIsReachedByEvents reads events at the version of another
// resource's write. The API server sends no bookmarks of events, and here no event follows the write.
func TestMinResourceVersion_OfAnotherResourceIsReachedByEvents(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	about := write.Create("about", nil)
	event, err := kit.Cluster(t).Client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "event"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: namespace, Name: about.Name, UID: about.UID},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reads := map[string]func(version string) error{
		"Get": func(version string) error {
			_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "events", Namespace: namespace, Name: event.Name, MinResourceVersion: version})
			return err
		},
		"List": func(version string) error {
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version, PageSize: 1})
			if err == nil && len(list.GetObjects()) != 1 {
				err = fmt.Errorf("it has %d events", len(list.GetObjects()))
			}
			return err
		},
		"Count": func(version string) error {
			_, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version})
			return err
		},
		"a related List": func(version string) error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version,
				Related: &kubeconnectv1.Relation{Type: relatedAbout, Resource: "configmaps", Namespace: namespace, Name: about.Name}})
			return err
		},
		"a List with a join": func(version string) error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version,
				Joins: []*kubeconnectv1.Join{{Name: "subject", Type: kubeconnectv1.JoinType_JOIN_TYPE_SUBJECT_OF, Resource: "configmaps"}}})
			return err
		},
		"Watch": func(version string) error {
			record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version}).Synced(ctx)
			return nil
		},
		"a Watch of a page": func(version string) error {
			stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version, Limit: 5}))
			if err != nil {
				return err
			}
			defer stream.Close()
			for stream.Receive() {
				if stream.Msg().GetPage() != nil {
					return nil
				}
			}
			return stream.Err()
		},
		"WatchCounts": func(version string) error {
			stream, err := responses.Of(client.WatchCounts(ctx, &kubeconnectv1.WatchCountsRequest{Resource: "events", Namespace: namespace, MinResourceVersion: version}))
			if err != nil {
				return err
			}
			defer stream.Close()
			for stream.Receive() {
				if stream.Msg().GetReset_() {
					return nil
				}
			}
			return stream.Err()
		},
	}
	version := write.Create("made", nil).ResourceVersion
	var reading sync.WaitGroup
	for name, read := range reads {
		reading.Go(func() {
			if err := read(version); err != nil {
				t.Errorf("%s at version %s: %v", name, version, err)
			}
		})
	}
	reading.Wait()
	for i, name := range slices.Sorted(maps.Keys(reads)) {
		if err := reads[name](write.Create(fmt.Sprintf("again-%d", i), nil).ResourceVersion); err != nil {
			t.Errorf("%s after the others: %v", name, err)
		}
	}
}
