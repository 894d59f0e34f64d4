package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/writes/change"
)

// service is a complete service on a fake API server, with clients.
type service struct {
	api       *servertest.FakeAPI
	url       string
	stop      context.CancelFunc // begins to shut down the service
	readiness *health.Readiness
	http      *http.Client
	resources kubeconnectv1connect.ResourceServiceClient
	pods      kubeconnectv1connect.PodServiceClient
}

func newService(t *testing.T, api *servertest.FakeAPI, authenticator auth.Authenticator, options ...connecthttp.Option) *service {
	t.Helper()
	return newLimitedService(t, api, authenticator, gate.Limits{}, options...)
}

// withRights returns a service whose callers have the permissions of a fake cluster.
func withRights(t *testing.T, api *servertest.FakeAPI, rights *servertest.FakeRights) *service {
	t.Helper()
	return newServiceOf(t, api, Config{Edge: edge.Config{Authenticator: rights}, Authorizer: rights, Recheck: time.Hour})
}

func newLimitedService(t *testing.T, api *servertest.FakeAPI, authenticator auth.Authenticator, limits gate.Limits, options ...connecthttp.Option) *service {
	t.Helper()
	everything := servertest.NewFakeRights(auth.Namespaces{All: true})
	return newServiceOf(t, api, Config{Edge: edge.Config{Authenticator: authenticator, Limits: limits}, Authorizer: everything}, options...)
}

// newServiceOf starts a service with a configuration that it completes.
func newServiceOf(t *testing.T, api *servertest.FakeAPI, of Config, options ...connecthttp.Option) *service {
	t.Helper()
	return newServiceWithHub(t, api, of, informerhub.Options{}, options...)
}

func newServiceWithHub(t *testing.T, api *servertest.FakeAPI, of Config, hubOptions informerhub.Options, options ...connecthttp.Option) *service {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	config := &rest.Config{Host: upstream.URL}
	hubOptions.SnapshotTimeout = 5 * time.Minute // on a busy machine a large snapshot takes long
	hub, err := informerhub.New(config, hubOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	clients, err := auth.NewClientFactory(config, change.NoteOutcome)
	if err != nil {
		t.Fatal(err)
	}
	stopping, stop := context.WithCancel(t.Context())
	s := &service{api: api, stop: stop, readiness: &health.Readiness{}}
	of.Hub, of.Clients, of.Readiness = hub, clients, s.readiness
	of.Edge.OnShutdown = func(end func()) func() bool { return context.AfterFunc(stopping, end) }
	of.Console = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the console") })
	server := httptest.NewUnstartedServer(New(of))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(stop)
	s.url, s.http = server.URL, server.Client()
	client := s.client(options...)
	s.resources, s.pods = kubeconnectv1connect.NewResourceServiceClient(client), kubeconnectv1connect.NewPodServiceClient(client)
	return s
}

// client returns a client of the service, which accepts responses of any length.
func (s *service) client(options ...connecthttp.Option) *connect.Client {
	return connect.NewClient(connecthttp.NewTransport(s.http, s.url, append([]connecthttp.Option{connecthttp.WithReadMaxBytes(0)}, options...)...))
}

// resourcesOf returns the handlers of a service on a fake API server, without gates and
// interceptors.
func resourcesOf(t testing.TB, api *servertest.FakeAPI, limits gate.Limits) resources {
	t.Helper()
	return handlersOf(t, api, limits).resources
}

// handlersOf returns the handlers of all services like resourcesOf.
func handlersOf(t testing.TB, api *servertest.FakeAPI, limits gate.Limits) handlers {
	t.Helper()
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	config := &rest.Config{Host: upstream.URL}
	hub, err := informerhub.New(config, informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	clients, err := auth.NewClientFactory(config, change.NoteOutcome)
	if err != nil {
		t.Fatal(err)
	}
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	return newHandlers(Config{Edge: edge.Config{Limits: limits, Metrics: observe.NewMetrics()}, Hub: hub, Clients: clients, Authorizer: rights}, gate.NewCallers(limits), ledger.New(ledger.Limits{Total: 1 << 30}))
}
