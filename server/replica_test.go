package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

func TestReplica_IsNamedToAuthenticatedCallersOnly(t *testing.T) {
	authenticator := authenticatorFunc(func(header http.Header) (auth.Identity, error) {
		if header.Get("Authorization") == "" {
			return auth.Identity{}, auth.ErrUnauthenticated
		}
		return auth.Identity{Username: "jane"}, nil
	})
	s := newServiceOf(t, servertest.PodsAPI(), Config{
		Edge:       edge.Config{Authenticator: authenticator, Replica: "pod-a"},
		Authorizer: everything(), Recheck: time.Hour,
	})
	const get, watch = "/kubeconnect.v1.ResourceService/Get", "/kubeconnect.v1.ResourceService/Watch"
	for name, c := range map[string]struct {
		path, contentType, body, token, want string
	}{
		"a read":               {get, "application/json", `{"resource":"pods","namespace":"default","name":"a"}`, "Bearer any", "pod-a"},
		"an error":             {get, "application/json", `{"resource":"pods","namespace":"default","name":"none"}`, "Bearer any", "pod-a"},
		"a stream":             {watch, "application/grpc-web+json", "\x00\x00\x00\x00\x13" + `{"resource":"pods"}`, "Bearer any", "pod-a"},
		"no token":             {get, "application/json", `{"resource":"pods","namespace":"default","name":"a"}`, "", ""},
		"a stream, no token":   {watch, "application/grpc-web+json", "\x00\x00\x00\x00\x13" + `{"resource":"pods"}`, "", ""},
		"the console":          {"/", "", "", "Bearer any", ""},
		"the health of a call": {"/grpc.health.v1.Health/Check", "application/json", `{}`, "Bearer any", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel() // of the stream
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", c.contentType)
			if c.token != "" {
				request.Header.Set("Authorization", c.token)
			}
			answer, err := s.http.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			if replica := answer.Header.Get(call.ReplicaHeader); replica != c.want {
				t.Errorf("the replica is %q, want %q", replica, c.want)
			}
		})
	}
}
