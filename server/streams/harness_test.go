package streams

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// directly returns handlers of watches without connections, and the context of a call by jane.
func watchesOn(t *testing.T, api *servertest.FakeAPI, rights *servertest.FakeRights) (*Watches, context.Context) {
	t.Helper()
	hub := servertest.HubOf(t, api)
	targets, permissions, metrics := target.NewResolver(hub), access.NewPermissions(rights, nil), observe.NewMetrics()
	clients, err := auth.NewClientFactory(&rest.Config{Host: "http://unused.example"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	watches := New(Config{
		Hub: hub, Targets: targets, Clients: clients, Metrics: metrics, Leases: access.NewLeases(permissions, time.Hour), Callers: gate.NewCallers(gate.Limits{}),
		Reads: reads.New(reads.Config{Hub: hub, Targets: targets, Permissions: permissions, Clients: clients, Metrics: metrics}),
	})
	jane := call.Caller{Identity: rights.Who, Authenticator: rights, Header: http.Header{}}
	return watches, call.WithCaller(t.Context(), jane)
}
