package server

import (
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

func TestCallers_ChargeCountsAsManyCalls(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := newCallers(edge.Limits{Rate: 10, Burst: 50})
		ask := func() error {
			if err := callers.call("jane"); err != nil {
				return err
			}
			return callers.charge("jane", 9)
		}
		if refused := refusals(10, ask); refused != 5 {
			t.Errorf("at first, %d of 10 calls with 10 questions are rejected, want 5", refused)
		}
		time.Sleep(time.Minute)
		if refused := refusals(60, func() error { return callers.call("jane") }); refused != 10 {
			t.Errorf("after a quiet time, %d of 60 are rejected, want 10", refused)
		}
		time.Sleep(time.Minute)
		if err := callers.call("jane"); err != nil || callers.charge("jane", 1000) != nil {
			t.Error("more than a burst is never taken")
		}
		if callers.charge("jane", 1) == nil {
			t.Error("more than a burst costs less than one")
		}
	})
}

func TestCallers_ChargeNothingWithoutALimit(t *testing.T) {
	callers := newCallers(edge.Limits{})
	if refused := refusals(100, func() error { return callers.charge("jane", 1000) }); refused != 0 {
		t.Errorf("%d of 100 are rejected", refused)
	}
}

// TestCheckAccess_CountsEachQuestion makes two calls with as many questions together as a caller
// can make calls.
func TestCheckAccess_CountsEachQuestion(t *testing.T) {
	s := newLimitedService(t, podsAPI(), auth.KubeconfigUser{}, edge.Limits{Rate: 1, Burst: 20})
	access := kubeconnectv1connect.NewAccessServiceClient(s.http, s.url)
	question := &kubeconnectv1.AccessQuestion{Verb: "get", Resource: "pods", Namespace: "default", Name: "a"}
	request := &kubeconnectv1.CheckAccessRequest{Questions: []*kubeconnectv1.AccessQuestion{
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
