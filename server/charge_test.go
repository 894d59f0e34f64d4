package server

import (
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// TestCheckAccess_CountsEachQuestion makes two calls with as many questions together as a caller
// can make calls.
func TestCheckAccess_CountsEachQuestion(t *testing.T) {
	s := newLimitedService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{}, gate.Limits{Rate: 1, Burst: 20})
	access := kubeconnectv1connect.NewAccessServiceClient(s.client())
	question := &kubeconnectv1.AccessCheck{Verb: "get", Resource: "pods", Namespace: "default", Name: "a"}
	request := &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
		question, question, question, question, question, question, question, question, question, question, question,
	}}
	if _, err := access.CheckAccess(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	_, err := access.CheckAccess(t.Context(), request)
	if connect.CodeOf(err) != connect.CodeResourceExhausted || statustest.Of(t, err).GetRetryAfterSeconds() < 1 {
		t.Errorf("the second call returned %v", err)
	}
}
