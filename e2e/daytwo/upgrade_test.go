package daytwo_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// beforeFormats is the last commit that takes a token in a format of a newer version as modified. A later
// change of the formats records the commit before it here.
const beforeFormats = "c863cf4649e8df87609b11abc6ec0ae4488910b8"

// buildOf builds the service of a commit. It skips the test in a clone without that commit, such as a
// shallow one.
func buildOf(t *testing.T, commit string) (binary string) {
	t.Helper()
	root, folder := kit.CheckoutPath(t), filepath.Join(t.TempDir(), "checkout")
	run := func(dir, name string, args ...string) error {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = dir
		output, err := command.CombinedOutput()
		if err != nil {
			t.Logf("%s %q: %s", name, args, output)
		}
		return err
	}
	if run(root, "git", "cat-file", "-e", commit+"^{commit}") != nil {
		t.Skipf("the commit %s is not in this clone", commit)
	}
	if err := run(root, "git", "worktree", "add", "--detach", folder, commit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exec.Command("git", "-C", root, "worktree", "remove", "--force", folder).Run(); err != nil {
			t.Error(err)
		}
	})
	binary = filepath.Join(t.TempDir(), "kubeconnect")
	// The console is not needed, and is not built.
	if err := errors.Join(run(folder, "mkdir", "-p", "clients/web/dist"), run(folder, "touch", "clients/web/dist/none"),
		run(folder, "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/server")); err != nil {
		t.Fatal(err)
	}
	return binary
}

// heldToken returns the token of a watch that has its snapshot, and the first event that it sent.
func heldToken(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchRequest) (token string, first kubeconnectv1.EventType) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		for _, event := range stream.Msg().GetEvents() {
			if event.GetResourceVersion() == "" && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK {
				continue // the replica waits for its snapshot
			}
			if first == kubeconnectv1.EventType_EVENT_TYPE_UNSPECIFIED {
				first = event.GetType()
			}
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK {
				return stream.Msg().GetResumeToken(), first
			}
		}
	}
	t.Fatalf("%v: %v", request, stream.Err())
	return "", 0
}

// heldManyToken is heldToken for a WatchMany of one watch.
func heldManyToken(ctx context.Context, t *testing.T, client kit.ResourceClient, request *kubeconnectv1.WatchManyRequest) (token string, first kubeconnectv1.EventType) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.WatchMany(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		for _, event := range stream.Msg().GetResponse().GetEvents() {
			if event.GetResourceVersion() != "" || event.GetType() != kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK {
				return stream.Msg().GetResumeToken(), event.GetType()
			}
		}
	}
	t.Fatalf("%v: %v", request, stream.Err())
	return "", 0
}

// ofNextFormat returns a token as a newer version of the service can write it.
func ofNextFormat(t *testing.T, token string) string {
	t.Helper()
	content, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(content) == 0 {
		t.Fatalf("the token is %q (%v)", token, err)
	}
	content[0] = 200
	return base64.RawURLEncoding.EncodeToString(content)
}

// Replicas of two versions serve one cluster, as during an upgrade and after a downgrade. Each resumes the
// tokens of the other, without a RESET. A token in a format that a replica does not know is a RESET, and a
// list with such a token expires.
func TestUpgrade_TokensResumeInBothDirections(t *testing.T) {
	kit.SoakOnly(t) // it builds the service
	older := buildOf(t, beforeFormats)
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := startCluster(t)
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	write := kit.ConfigMapsIn(ctx, t, controlPlane, namespace)
	write.Create("a", kit.Labels{"app": "web"})
	write.Create("b", kit.Labels{"app": "web"})
	newClient := harness.Dial(harness.HTTP2(t), harness.StartService(t, controlPlane.Kubeconfig).Address, harness.GRPC).Resources
	t.Setenv("KUBECONNECT_BIN", older)
	oldClient := harness.Dial(harness.HTTP2(t), harness.StartService(t, controlPlane.Kubeconfig).Address, harness.GRPC).Resources

	for direction, clients := range map[string][2]kit.ResourceClient{"upgrade": {oldClient, newClient}, "downgrade": {newClient, oldClient}} {
		for name, request := range map[string]*kubeconnectv1.WatchRequest{
			"everything": {Namespace: namespace},
			"selectors":  {Namespace: namespace, LabelSelector: "app=web", FieldSelector: "metadata.name!=x", Filter: "object.metadata.name != 'y'"},
			"fields":     {Namespace: namespace, Fields: []string{"data", "metadata.name"}},
			"metadata":   {Namespace: namespace, MetadataOnly: true},
			"one name":   {Namespace: namespace, Name: "a"},
			"patches":    {Namespace: namespace, Encoding: kubeconnectv1.Encoding_ENCODING_JSON, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON},
			"a page":     {Namespace: namespace, Limit: 1, Offset: 1, OrderBy: "metadata.name desc"},
			"a relation": {Namespace: namespace, Related: &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: namespace, Name: "a"}},
		} {
			t.Run(direction+" of "+name, func(t *testing.T) {
				request.Resource, request.ResumeToken = "configmaps", ""
				request.ResumeToken, _ = heldToken(ctx, t, clients[0], request)
				if _, first := heldToken(ctx, t, clients[1], request); first == kubeconnectv1.EventType_EVENT_TYPE_RESET {
					t.Error("it begins with RESET")
				}
				request.ResumeToken = ofNextFormat(t, request.GetResumeToken())
				if _, first := heldToken(ctx, t, newClient, request); first != kubeconnectv1.EventType_EVENT_TYPE_RESET {
					t.Errorf("with a token of the next version it begins with %v", first)
				}
			})
		}
		t.Run(direction+" of several watches", func(t *testing.T) {
			request := &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{Resource: "configmaps", Namespace: namespace, Name: "a"}}}
			request.ResumeToken, _ = heldManyToken(ctx, t, clients[0], request)
			token, first := heldManyToken(ctx, t, clients[1], request)
			if first == kubeconnectv1.EventType_EVENT_TYPE_RESET {
				t.Error("it begins with RESET")
			}
			request.ResumeToken = token
			request.ResumeToken = ofNextFormat(t, request.GetResumeToken())
			if _, first = heldManyToken(ctx, t, newClient, request); first != kubeconnectv1.EventType_EVENT_TYPE_RESET {
				t.Errorf("with a token of the next version it begins with %v", first)
			}
		})
		t.Run(direction+" of a list", func(t *testing.T) {
			request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, PageSize: 1, LabelSelector: "app=web"}
			first, err := clients[0].List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			request.PageToken = first.GetNextPageToken()
			second, err := clients[1].List(ctx, request)
			if err != nil || len(second.GetObjects()) != 1 || second.GetObjects()[0].GetName() != "b" {
				t.Errorf("the second page has %v, %v", second.GetObjects(), err)
			}
			request.PageToken = ofNextFormat(t, request.GetPageToken())
			_, err = newClient.List(ctx, request)
			kit.WantError(t, err, connect.CodeOutOfRange)
			kit.WantStatus(t, err, "Expired")
		})
	}
}
