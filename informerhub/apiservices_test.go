package informerhub

import (
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// The cache of a group that becomes part of an aggregated API is evicted at once.
func TestHub_EndsCacheWhenItsGroupIsAggregated(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	metadata := make(fakeapi.Calls)
	aggregate := func(services map[string]string) {
		lists := fakeapi.APIServices(services)
		api.Handle("apiservices", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fakeapi.WantsMetadata(r) {
				metadata.ServeHTTP(w, r)
				return
			}
			lists.ServeHTTP(w, r)
		}))
	}
	aggregate(map[string]string{"v1.example.com": ""})
	hub := hubOf(t, api.Config())
	answered := ask(t.Context(), hub, widgets)
	services := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []metav1.PartialObjectMetadata{*serviceOf("v1.example.com", "3")}}
	services.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	metadata.Next(t, "list").Respond(services)
	watched := metadata.Next(t, "watch").Open()
	snapshotOfWidgets(t, api, "10", "red")
	got := <-answered
	must(t, got.err)
	w := longWatch(t, got.cache)
	expect(t, w, "RESET at 10", "ADDED default/a@3 at 3", "SYNCED at 10")

	aggregate(map[string]string{"v1.example.com": "widgets"})
	watched.Send(t, watch.Modified, serviceOf("v1.example.com", "11"))
	var gone *discovery.ResourceGoneError
	if batch, err := w.Next(t.Context()); !errors.As(err, &gone) {
		t.Fatalf("the watch continues with %v (%v)", describeAll(batch.Events, describeEvent), err)
	}
	found, err := hub.Resolver().Resolve(t.Context(), "widgets")
	must(t, err)
	if found.Cacheable() {
		t.Error("the resource would be cached again")
	}
	if _, err := hub.Cache(t.Context(), widgets); !errors.As(err, &gone) {
		t.Errorf("a new cache was started: %v", err)
	}
}

func serviceOf(name, version string) *metav1.PartialObjectMetadata {
	service := &metav1.PartialObjectMetadata{}
	service.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	service.Name, service.UID, service.ResourceVersion = name, types.UID(name), version
	return service
}
