package queries_test

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestCheckAccess_AnswersAreInTheOrderOfTheQuestions asks some questions twice.
func TestCheckAccess_AnswersAreInTheOrderOfTheQuestions(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	account := kit.NewAccount(ctx, t, namespace, "reader")
	account.GrantIn(namespace, "reader", kit.Rule("configmaps", "get", "inspect"), kit.Rule("pods/status", "get"))
	client := account.Calling(service, harness.Connect).Access
	asked := []*kubeconnectv1.AccessCheck{
		{Verb: "get", Resource: "configmaps", Namespace: namespace},
		{Verb: "list", Resource: "configmaps", Namespace: namespace},
		{Verb: "get", Resource: "cm", Namespace: namespace, Name: "one"},
		{Verb: "get", Resource: "configmaps"},
		{Verb: "inspect", Resource: "configmaps", Namespace: namespace},
		{Verb: "get", Resource: "pods", Namespace: namespace},
		{Verb: "get", Resource: "pods", Subresource: "status", Namespace: namespace},
		{Verb: "get", Resource: "nodes"},
	}
	asked = append(asked, asked...)
	want := []bool{true, false, true, false, true, false, true, false}
	want = append(want, want...)
	kit.Eventually(ctx, t, "the caller has its permissions", func() error {
		response, err := client.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: asked})
		if err == nil && !slices.Equal(allowedBy(response), want) {
			return fmt.Errorf("allowed %v, want %v", allowedBy(response), want)
		}
		return err
	})
}

func allowedBy(response *kubeconnectv1.CheckAccessResponse) (allowed []bool) {
	for _, answer := range response.GetDecisions() {
		allowed = append(allowed, answer.GetAllowed())
	}
	return allowed
}

func TestCheckAccess_OneInvalidQuestionFailsTheCall(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Access
	for name, test := range map[string]struct {
		question *kubeconnectv1.AccessCheck
		code     connect.Code
		words    string
	}{
		"without a verb":                {question: &kubeconnectv1.AccessCheck{Resource: "pods"}, code: connect.CodeInvalidArgument, words: "verb"},
		"without a resource":            {question: &kubeconnectv1.AccessCheck{Verb: "get"}, code: connect.CodeInvalidArgument, words: "resource"},
		"about an unknown resource":     {question: &kubeconnectv1.AccessCheck{Verb: "get", Resource: "podz"}, code: connect.CodeNotFound, words: "podz"},
		"about the namespace of a node": {question: &kubeconnectv1.AccessCheck{Verb: "get", Resource: "nodes", Namespace: "default"}, code: connect.CodeInvalidArgument, words: "no namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
				{Verb: "get", Resource: "pods"}, test.question,
			}})
			kit.WantError(t, err, test.code, test.words)
		})
	}
	response, err := client.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{})
	if err != nil || len(response.GetDecisions()) > 0 {
		t.Errorf("no questions: %v, %v", response, err)
	}
}
