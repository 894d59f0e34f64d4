package server

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// TestSlots_AreTakenForFewLargeObjects reads the fields of two objects of a megabyte.
func TestSlots_AreTakenForFewLargeObjects(t *testing.T) {
	api := servertest.PodsAPI()
	for i := range api.Objects {
		api.Objects[i].(*corev1.Pod).Annotations = map[string]string{"large": strings.Repeat("x", 1<<20)}
	}
	s, ctx := directly(t, api, servertest.NewFakeRights(auth.Namespaces{All: true}))
	fields := []string{"metadata.name"}
	for name, call := range map[string]func(context.Context) error{
		"List with fields": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Fields: fields})
			return err
		},
		"List with order_by": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", OrderBy: "metadata.annotations.large", PageSize: 1, Fields: fields})
			return err
		},
		"List with field_selector": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", FieldSelector: "status.phase!=Unknown"})
			return err
		},
		"Get with fields": func(ctx context.Context) error {
			_, err := s.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a", Fields: fields})
			return err
		},
		"List with a relation": func(ctx context.Context) error {
			_, err := s.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Related: &kubeconnectv1.Relation{
				Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "pods", Namespace: "default", Name: "a", Transitive: true,
			}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			slots := 0
			ctx := fairqueue.WithMeter(ctx, fairqueue.New(fairqueue.Limits{Total: 1}), "jane", func(time.Duration) { slots++ })
			if err := call(ctx); err != nil {
				t.Fatal(err)
			}
			if slots == 0 {
				t.Error("the work is done without a processor slot")
			}
		})
	}
}

// TestSlots_AreTakenForLargeManifests makes changes that are rejected because of their manifests, which are parsed
// before.
func TestSlots_AreTakenForLargeManifests(t *testing.T) {
	s := resourcesOf(t, servertest.PodsAPI(), gate.Limits{})
	data := []byte(`{"metadata":{"name":1},"large":"` + strings.Repeat("x", budget.ShortBytes) + `"}`)
	for name, call := range map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error {
			_, err := s.Create(ctx, &kubeconnectv1.CreateRequest{Resource: "pods", Body: &kubeconnectv1.CreateRequest_Data{Data: data}})
			return err
		},
		"Update": func(ctx context.Context) error {
			_, err := s.Update(ctx, &kubeconnectv1.UpdateRequest{Resource: "pods", Body: &kubeconnectv1.UpdateRequest_Data{Data: data}})
			return err
		},
		"Patch": func(ctx context.Context) error {
			_, err := s.Patch(ctx, &kubeconnectv1.PatchRequest{Resource: "pods", Type: kubeconnectv1.PatchType_PATCH_TYPE_JSON, Body: &kubeconnectv1.PatchRequest_Data{Data: data}})
			return err
		},
	} {
		slots := 0
		ctx := fairqueue.WithMeter(t.Context(), fairqueue.New(fairqueue.Limits{Total: 1}), "jane", func(time.Duration) { slots++ })
		if err := call(ctx); !apierrors.IsBadRequest(err) || slots == 0 {
			t.Errorf("%s: %d slots: %v", name, slots, err)
		}
	}
}
