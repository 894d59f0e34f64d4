package server

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// TestRelate_ChargesForTheSelectorOfTheOtherObject watches what an object selects by many values.
func TestRelate_ChargesForTheSelectorOfTheOtherObject(t *testing.T) {
	widget := func(values int) any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "a", "uid": "u", "resourceVersion": "3"},
			"spec": map[string]any{"selector": map[string]any{"matchExpressions": []any{map[string]any{"key": "k", "operator": "In", "values": texts(0, values, 0)}}}}}
	}
	charged := make(map[int]int)
	for _, values := range []int{1, 900} {
		api := servertest.PodsAPI()
		api.Of = map[string][]any{"widgets": {widget(values)}, "pods": api.Objects}
		usage, everything := observe.NewUsage(), servertest.NewFakeRights(auth.Namespaces{All: true})
		s := newServiceOf(t, api, Config{Edge: edge.Config{Authenticator: everything, Usage: usage}, Authorizer: everything, Recheck: time.Hour})
		if err := keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", Related: &kubeconnectv1.Relation{
			Type: kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, Resource: "widgets", Namespace: "a", Name: "w"}}); err != nil {
			t.Fatal(err)
		}
		charged[values] = usage.Callers()[0].KeptBytes
	}
	if more := charged[900] - charged[1]; more < 899*256 {
		t.Errorf("%d bytes are charged for 899 values", more)
	}
}
