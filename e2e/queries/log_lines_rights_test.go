package queries_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestLogLines_FollowThePermissionsOfTheCaller grants and revokes permissions for pods and for
// their logs while logs are followed in all namespaces.
func TestLogLines_FollowThePermissionsOfTheCaller(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	own, other := kit.NewLoggingPods(t), kit.NewLoggingPods(t)
	caller := kit.NewAccount(own.Ctx, t, own.Namespace, "reader")
	client := kit.CallingWith(t, service, harness.GRPC, caller.Token()).Pods
	request := &kit.LinesRequest{Follow: true, LabelSelector: "app=web"}
	ownLog, otherLog := own.Start("own", web, "main")[0], other.Start("other", web, "main")[0]
	ownLog.Write("1\n")
	otherLog.Write("1\n")
	pods := kit.Rule("pods", "list", "watch")
	caller.GrantIn(own.Namespace, "pods", pods)
	kit.WantError(t, kit.OpenLines(own.Ctx, t, client, request).End(), connect.CodePermissionDenied, "pods")
	caller.GrantIn(own.Namespace, "logs", kit.Rule("pods/log", "get"))
	caller.GrantIn(other.Namespace, "pods", pods) // which does not include logs
	kit.Eventually(own.Ctx, t, "the permissions are effective", func() error {
		_, _, err := kit.ReadLines(own.Ctx, client, &kit.LinesRequest{LabelSelector: request.GetLabelSelector()})
		return err
	})
	stream := kit.OpenLines(own.Ctx, t, client, request)
	stream.Want("own/main: 1")
	if first := stream.First; first.GetCoversAll() || !slices.Equal(first.GetNamespaces(), []string{own.Namespace}) || !strings.Contains(strings.Join(first.GetWarnings(), " "), "get their logs") {
		t.Errorf("the first response is %v", first)
	}
	caller.GrantIn(other.Namespace, "logs", kit.Rule("pods/log", "get"))
	stream.Want("other/main: 1")
	caller.RevokeIn(own.Namespace, "logs")
	stream.WantNamespaces(other.Namespace)
	ownLog.Write("2\n")
	otherLog.Write("2\n")
	stream.Want("other/main: 2")
	caller.RevokeIn(other.Namespace, "logs")
	kit.WantError(t, stream.End(), connect.CodePermissionDenied, caller.User(), "pods/log")
	for _, line := range stream.Lines {
		t.Errorf("%s is sent without permission", kit.Describe(line))
	}
}
