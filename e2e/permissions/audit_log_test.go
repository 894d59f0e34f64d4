package permissions_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// secretReads reads Secrets of a namespace by each RPC, directly and by others that lead to them.
type secretReads struct {
	ctx       context.Context
	namespace string
}

// secretRead is a read of Secrets.
type secretRead struct {
	verb     string
	isStream bool
	// isPart reports whether the call succeeds without the permission for Secrets.
	isPart bool
	call   func(harness.Clients) error
}

const byName = kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY

func (r secretReads) all() map[string]secretRead {
	latest := kubeconnectv1.Consistency_CONSISTENCY_LATEST
	joins := []*kubeconnectv1.Join{{Name: "secret", Type: byName, Resource: "secrets", Path: "metadata.name", Fields: []string{"data"}}}
	about := &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_ABOUT, Resource: "secrets", Namespace: r.namespace, Name: "shared"}
	get := func(request *kubeconnectv1.GetRequest) func(harness.Clients) error {
		request.Resource, request.Namespace, request.Name = "secrets", r.namespace, "shared"
		return func(clients harness.Clients) error { _, err := clients.Resources.Get(r.ctx, request); return err }
	}
	list := func(request *kubeconnectv1.ListRequest) func(harness.Clients) error {
		return func(clients harness.Clients) error { _, err := clients.Resources.List(r.ctx, request); return err }
	}
	watch := func(request *kubeconnectv1.WatchRequest, has func(*kubeconnectv1.WatchResponse) bool) func(harness.Clients) error {
		return func(clients harness.Clients) error {
			stream, err := clients.Resources.Watch(r.ctx, request)
			return untilReceived(stream, err, has)
		}
	}
	hasEvents := func(response *kubeconnectv1.WatchResponse) bool { return len(response.GetEvents()) > 1 }
	return map[string]secretRead{
		"Get":                  {verb: "get", call: get(&kubeconnectv1.GetRequest{})},
		"Get at the latest":    {verb: "get", call: get(&kubeconnectv1.GetRequest{Consistency: latest})},
		"List":                 {verb: "list", call: list(&kubeconnectv1.ListRequest{Resource: "secrets", Namespace: r.namespace})},
		"List of all":          {verb: "list", call: list(&kubeconnectv1.ListRequest{Resource: "secrets", LabelSelector: "audited=" + r.namespace})},
		"List at the latest":   {verb: "list", call: list(&kubeconnectv1.ListRequest{Resource: "secrets", Namespace: r.namespace, Consistency: latest})},
		"List with a join":     {verb: "list", isPart: true, call: list(&kubeconnectv1.ListRequest{Resource: "pods", Namespace: r.namespace, Joins: joins})},
		"List with a relation": {verb: "get", call: list(&kubeconnectv1.ListRequest{Resource: "events", Namespace: r.namespace, Related: about})},
		"Count": {verb: "list", call: func(clients harness.Clients) error {
			_, err := clients.Resources.Count(r.ctx, &kubeconnectv1.CountRequest{Resource: "secrets", Namespace: r.namespace, GroupBy: []string{"data.password"}})
			return err
		}},
		"GetTable": {verb: "list", call: func(clients harness.Clients) error {
			_, err := clients.Resources.GetTable(r.ctx, &kubeconnectv1.GetTableRequest{Resource: "secrets", Namespace: r.namespace})
			return err
		}},
		"Watch": {verb: "watch", isStream: true, call: watch(&kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: r.namespace}, hasEvents)},
		"Watch of a page with a join": {verb: "list", isStream: true, isPart: true, call: watch(
			&kubeconnectv1.WatchRequest{Resource: "pods", Namespace: r.namespace, Limit: 10, Joins: joins}, hasEvents)},
		"WatchCounts": {verb: "watch", isStream: true, call: func(clients harness.Clients) error {
			stream, err := clients.Resources.WatchCounts(r.ctx, &kubeconnectv1.WatchCountsRequest{Resource: "secrets", Namespace: r.namespace})
			return untilReceived(stream, err, func(response *kubeconnectv1.WatchCountsResponse) bool { return response.GetTotalCount() > 0 })
		}},
		"WatchMany": {verb: "watch", isStream: true, isPart: true, call: func(clients harness.Clients) error {
			stream, err := clients.Resources.WatchMany(r.ctx, &kubeconnectv1.WatchManyRequest{Independent: true, Watches: []*kubeconnectv1.WatchSpec{
				{Resource: "pods", Namespace: r.namespace}, {Resource: "secrets", Namespace: r.namespace},
			}})
			done := map[int32]bool{}
			return untilReceived(stream, err, func(response *kubeconnectv1.WatchManyResponse) bool {
				if response.GetError() != nil || len(response.GetResponse().GetEvents()) > 1 {
					done[response.GetWatchIndex()] = true
				}
				return len(done) == 2
			})
		}},
	}
}

// untilReceived reads a stream until a response is accepted, and closes it.
func untilReceived[R any](receiver responses.Receiver[R], err error, accepts func(*R) bool) error {
	stream, err := responses.Of(receiver, err)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		if accepts(stream.Msg()) {
			return nil
		}
	}
	return stream.Err()
}

// auditLog is the audit log of a service.
type auditLog string

// events returns the events of a call about a resource. Each line of the log must be an Event.
func (l auditLog) events(t *testing.T, id, resource string) (events []auditv1.Event) {
	t.Helper()
	content, err := os.ReadFile(string(l))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(content) {
		decoder, event := json.NewDecoder(bytes.NewReader(line)), auditv1.Event{}
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if string(event.AuditID) == id && event.ObjectRef != nil && event.ObjectRef.Resource == resource {
			events = append(events, event)
		}
	}
	return events
}

// until blocks until the end of the read of a call is in the log, and returns its events.
func (l auditLog) until(ctx context.Context, t *testing.T, id string) (events []auditv1.Event) {
	t.Helper()
	kit.Eventually(ctx, t, "the end of the read is written", func() error {
		events = l.events(t, id, "secrets")
		if len(events) == 0 || events[len(events)-1].Stage != auditv1.StageResponseComplete {
			return fmt.Errorf("%s has %d events", id, len(events))
		}
		return nil
	})
	return events
}

// problems compares the events of a read with what the caller may read.
func (r secretRead) problems(events []auditv1.Event, user, namespace string, isAllowed bool) (problems []string) {
	const prefix = "kubeconnect.dev/"
	decision, code, stages := "forbid", int32(http.StatusForbidden), []auditv1.Stage{auditv1.StageResponseComplete}
	if isAllowed {
		decision, code = "allow", http.StatusOK
	}
	if isAllowed && r.isStream {
		stages = []auditv1.Stage{auditv1.StageResponseStarted, auditv1.StageResponseComplete}
	}
	var got []auditv1.Stage
	for _, event := range events {
		got = append(got, event.Stage)
		for name, pair := range map[string][2]string{
			"level":      {string(event.Level), string(auditv1.LevelMetadata)},
			"user":       {event.User.Username, user},
			"verb":       {event.Verb, r.verb},
			"decision":   {event.Annotations["authorization.k8s.io/decision"], decision},
			"code":       {fmt.Sprint(event.ResponseStatus.Code), fmt.Sprint(code)},
			"namespaces": {event.Annotations[prefix+"namespaces"], map[bool]string{true: namespace}[isAllowed]},
		} {
			if pair[0] != pair[1] {
				problems = append(problems, fmt.Sprintf("%s is %q, want %q", name, pair[0], pair[1]))
			}
		}
	}
	if !slices.Equal(got, stages) {
		problems = append(problems, fmt.Sprintf("the stages are %v, want %v", got, stages))
	}
	last := events[len(events)-1].Annotations
	if counted := last[prefix+"objects"] + last[prefix+"events"]; (counted != "") != isAllowed {
		problems = append(problems, fmt.Sprintf("objects and events are %q", counted))
	}
	return problems
}

// untilPermitted blocks until the caller can read pods and events, and Secrets if it is to have that permission. Permissions are
// asked for, which reads nothing.
func untilPermitted(ctx context.Context, t *testing.T, client kubeconnectv1connect.AccessServiceClient, namespace string, isAllowed bool) {
	t.Helper()
	kit.Eventually(ctx, t, "the permissions have effect", func() error {
		var checks []*kubeconnectv1.AccessCheck
		for resource, verbs := range map[string][]string{"pods": {"list", "watch"}, "events": {"list"}, "secrets": {"get", "list", "watch"}} {
			for _, verb := range verbs {
				if resource != "secrets" || isAllowed {
					checks = append(checks, &kubeconnectv1.AccessCheck{Verb: verb, Resource: resource, Namespace: namespace})
				}
			}
		}
		answer, err := client.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: checks})
		for i, decision := range answer.GetDecisions() {
			if err == nil && !decision.GetAllowed() {
				err = fmt.Errorf("%v is not allowed yet", checks[i])
			}
		}
		return err
	})
}

// TestAuditLog_HasEachReadOfSecrets reads Secrets with two callers, of which one can read those of one namespace, and the
// other none. Both can read pods and events.
func TestAuditLog_HasEachReadOfSecrets(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "shared", Labels: kit.Labels{"audited": namespace}},
		StringData: map[string]string{"password": "sesame-" + namespace},
	}
	if _, err := kit.Cluster(t).Client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.CreateUnscheduledPod(ctx, t, namespace, "shared")
	log := auditLog(filepath.Join(t.TempDir(), "audit.log"))
	service := kit.StartForCallers(t, "--audit-log", string(log))
	reads := secretReads{ctx, namespace}.all()
	for name, isAllowed := range map[string]bool{"reader": true, "stranger": false} {
		account := kit.NewAccount(ctx, t, namespace, name)
		account.GrantIn(namespace, name, kit.Rule("pods", "list", "watch"), kit.Rule("events", "list"))
		if isAllowed {
			account.GrantIn(namespace, name+"-secrets", kit.Rule("secrets", "get", "list", "watch"))
		}
		calling := func(id string) harness.Clients {
			return kit.CallingWithHeaders(t, service, harness.GRPC, http.Header{"Authorization": {"Bearer " + account.Token()}, "X-Request-Id": {id}})
		}
		untilPermitted(ctx, t, calling(name+"-begins").Access, namespace, isAllowed)
		for rpc, read := range reads {
			t.Run(name+" "+rpc, func(t *testing.T) {
				id := strings.ReplaceAll(name+"-"+rpc, " ", "-")
				err := read.call(calling(id))
				if isAllowed || read.isPart {
					if err != nil {
						t.Fatal(err)
					}
				} else if connect.CodeOf(err) != connect.CodePermissionDenied {
					t.Fatalf("the call returned %v", err)
				}
				events := log.until(ctx, t, id)
				if problems := read.problems(events, account.User(), namespace, isAllowed); len(problems) > 0 {
					t.Errorf("%s: %+v", strings.Join(problems, "; "), events)
				}
			})
		}
	}
	content, err := os.ReadFile(string(log))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{secret.StringData["password"], base64.StdEncoding.EncodeToString([]byte(secret.StringData["password"]))} {
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("the log has the content %q", text)
		}
	}
}

// TestAuditLog_HasTheStreamsThatAShutdownEnds stops the service during a watch. Its events are complete when the process has ended.
func TestAuditLog_HasTheStreamsThatAShutdownEnds(t *testing.T) {
	t.Parallel()
	ctx, log := kit.Deadline(t), auditLog(filepath.Join(t.TempDir(), "audit.log"))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--audit-log", string(log))
	clients := kit.CallingWithHeaders(t, service, harness.Connect, http.Header{"X-Request-Id": {"ended"}})
	stream, err := responses.Of(clients.Resources.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps"}))
	if err != nil || !stream.Receive() {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if err := service.Stop(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, event := range log.events(t, "ended", "configmaps") {
		got = append(got, fmt.Sprint(event.Stage, " ", event.User.Username, " ", event.ResponseStatus.Code))
	}
	want := []string{"ResponseStarted everyone (--auth none) 200", "ResponseComplete everyone (--auth none) 503"}
	if !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
}
