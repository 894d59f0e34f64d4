package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/audit"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// auditedService is a service with an audit log. Its caller is the token without "Bearer ".
type auditedService struct {
	*service
	rights *servertest.FakeRights
	file   string
}

func newAuditedService(t *testing.T, api *servertest.FakeAPI, rights *servertest.FakeRights) auditedService {
	t.Helper()
	return newAuditedServiceWithHub(t, api, rights, informerhub.Options{})
}

func newAuditedServiceWithHub(t *testing.T, api *servertest.FakeAPI, rights *servertest.FakeRights, hubOptions informerhub.Options) auditedService {
	t.Helper()
	s := auditedService{rights: rights, file: filepath.Join(t.TempDir(), "audit.log")}
	output := audit.NewOutput(s.file)
	if err := output.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(output.Close)
	authenticator := authenticatorFunc(func(header http.Header) (auth.Identity, error) {
		name, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
		if !ok {
			return auth.Identity{}, auth.ErrUnauthenticated
		}
		return auth.Identity{Username: name, UID: "uid-" + name, Groups: []string{"team"}, Extra: map[string][]string{"example.com/a": {"b"}}}, nil
	})
	s.service = newServiceWithHub(t, api, Config{
		Edge:       edge.Config{Authenticator: authenticator, Audit: audit.NewLog(audit.DefaultPolicy(), output)},
		Authorizer: rights, Recheck: time.Hour,
	}, hubOptions)
	return s
}

// events blocks until the log has some events of a call, and returns them. It fails the test if there are more, or if a line
// is no Event.
func (s auditedService) events(t *testing.T, id string, count int) (events []auditv1.Event) {
	t.Helper()
	servertest.Until(t, fmt.Sprint(count, " events of ", id), func() bool {
		events = nil
		content, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(content) {
			var event auditv1.Event
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&event); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if string(event.AuditID) == id {
				events = append(events, event)
			}
		}
		return len(events) >= count
	})
	if len(events) != count {
		t.Errorf("%s has %d events, want %d", id, len(events), count)
	}
	return events
}

// shownEvent returns what differs between the events of a test, in one line.
func shownEvent(event auditv1.Event) string {
	text := fmt.Sprint(strings.TrimPrefix(string(event.Stage), "Response"), " ", event.Verb)
	if at := event.ObjectRef; at != nil {
		text += fmt.Sprintf(" %s/%s/%s/%s/%s/%s", at.APIGroup, at.APIVersion, at.Resource, at.Subresource, at.Namespace, at.Name)
	}
	text += fmt.Sprint(" ", event.ResponseStatus.Code, event.ResponseStatus.Reason)
	for _, key := range slices.Sorted(maps.Keys(event.Annotations)) {
		switch name := key[strings.LastIndex(key, "/")+1:]; name {
		case "latency", "bytes":
		case "events": // their number depends on when the client leaves
			text += " events"
		default:
			text += fmt.Sprintf(" %s=%s", name, event.Annotations[key])
		}
	}
	return text
}

func shownEvents(events []auditv1.Event) (lines []string) {
	for _, event := range events {
		lines = append(lines, shownEvent(event))
	}
	return lines
}

// TestAuditLog_HasEachReadOfACall makes calls of a caller that can read pods in one namespace, and nodes, deployments and replica sets
// everywhere.
func TestAuditLog_HasEachReadOfACall(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{})
	all := auth.Namespaces{All: true}
	rights.Of = map[string]auth.Namespaces{"pods": servertest.Some("a"), "nodes": all, "deployments": all, "replicasets": all}
	api := joinedAPI()
	api.Change = servertest.AnswerWith(http.StatusConflict, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonConflict, Code: http.StatusConflict})
	s := newAuditedService(t, api, rights)
	const nodes = `{"name":"n","type":"JOIN_TYPE_NAMED_BY","resource":"nodes","path":"spec.nodeName"}`
	const claims = `{"name":"c","type":"JOIN_TYPE_NAMES","resource":"persistentvolumeclaims","path":"spec.volumes[*].persistentVolumeClaim.claimName"}`
	const owners = `{"name":"o","type":"JOIN_TYPE_OWNER_OF","resource":"deployments"}`
	for name, test := range map[string]struct {
		call loggedCall
		want []string
	}{
		"an object": {
			loggedCall{procedure: "Get", body: `{"resource":"Pod","namespace":"a","name":"web-1"}`},
			[]string{"Complete get /v1/pods//a/web-1 200 decision=allow namespaces=a objects=1"},
		},
		"an object that does not exist": {
			loggedCall{procedure: "Get", body: `{"resource":"pods","namespace":"a","name":"none"}`},
			[]string{"Complete get /v1/pods//a/none 404NotFound decision=allow namespaces=a"},
		},
		"an object without permission": {
			loggedCall{procedure: "Get", body: `{"resource":"pods","namespace":"b","name":"alone"}`},
			[]string{"Complete get /v1/pods//b/alone 403Forbidden decision=forbid"},
		},
		"an object of the API server": {
			loggedCall{procedure: "Get", body: `{"resource":"pods","namespace":"a","name":"web-1","consistency":"CONSISTENCY_LATEST"}`},
			[]string{"Complete get /v1/pods//a/web-1 400BadRequest"},
		},
		"a list of some namespaces": {
			loggedCall{procedure: "List", body: `{"resource":"pods","labelSelector":"app=web","fieldSelector":"spec.nodeName=n1","filter":"true"}`},
			[]string{"Complete list /v1/pods/// 200 decision=allow field-selector=spec.nodeName=n1 filter=true label-selector=app=web namespaces=a objects=1"},
		},
		"a list of one name": {
			loggedCall{procedure: "List", body: `{"resource":"nodes","fieldSelector":"metadata.name=n1"}`},
			[]string{"Complete list /v1/nodes///n1 200 decision=allow field-selector=metadata.name=n1 objects=1"},
		},
		"counts": {
			loggedCall{procedure: "Count", body: `{"resource":"pods","groupBy":["spec.nodeName"]}`},
			[]string{"Complete list /v1/pods/// 200 decision=allow namespaces=a objects=2"},
		},
		"joins": {
			loggedCall{procedure: "List", body: `{"resource":"pods","joins":[` + nodes + `,` + claims + `]}`},
			[]string{
				"Complete list /v1/pods/// 200 decision=allow namespaces=a objects=2",
				"Complete list /v1/nodes/// 200 decision=allow objects=1",
				"Complete list /v1/persistentvolumeclaims/// 403Forbidden decision=forbid",
			},
		},
		"a join over owners": {
			loggedCall{procedure: "List", body: `{"resource":"pods","namespace":"a","joins":[` + owners + `]}`},
			[]string{
				"Complete list /v1/pods//a/ 200 decision=allow namespaces=a objects=2",
				"Complete list apps/v1/deployments//a/ 200 decision=allow namespaces=a objects=2",
				"Complete list apps/v1/replicasets//a/ 200 decision=allow namespaces=a",
			},
		},
		"a relation": {
			loggedCall{procedure: "List", body: `{"resource":"pods","namespace":"a","related":{"type":"RELATION_TYPE_SELECTED_BY","resource":"deployments","namespace":"a","name":"web"}}`},
			[]string{
				"Complete list /v1/pods//a/ 200 decision=allow namespaces=a objects=2",
				"Complete get apps/v1/deployments//a/web 200 decision=allow namespaces=a objects=1",
			},
		},
		"a relation to an object of the API server": {
			loggedCall{procedure: "List", body: `{"resource":"pods","namespace":"a","consistency":"CONSISTENCY_LATEST","related":{"type":"RELATION_TYPE_SELECTED_BY","resource":"deployments","namespace":"a","name":"web"}}`},
			[]string{
				"Complete list /v1/pods//a/ 400BadRequest decision=allow namespaces=a",
				"Complete get apps/v1/deployments//a/web 400BadRequest",
			},
		},
		"a relation to what cannot be read": {
			loggedCall{procedure: "Count", body: `{"resource":"pods","namespace":"a","related":{"type":"RELATION_TYPE_OWNER_OF","resource":"configmaps","namespace":"a","name":"c"}}`},
			[]string{
				"Complete list /v1/pods//a/ 403Forbidden decision=allow namespaces=a",
				"Complete get /v1/configmaps//a/c 403Forbidden decision=forbid",
			},
		},
		"owners of owners": {
			loggedCall{procedure: "List", body: `{"resource":"pods","namespace":"a","related":{"type":"RELATION_TYPE_OWNED_BY","transitive":true,"resource":"deployments","namespace":"a","name":"web"}}`},
			[]string{
				"Complete list /v1/pods//a/ 200 decision=allow namespaces=a objects=2",
				"Complete get apps/v1/deployments//a/web 200 decision=allow namespaces=a objects=1",
				"Complete list apps/v1/replicasets//a/ 200 decision=allow namespaces=a",
			},
		},
		"a table": {
			loggedCall{procedure: "GetTable", body: `{"resource":"pods","labelSelector":"app=web"}`},
			[]string{"Complete list /v1/pods/// 400BadRequest label-selector=app=web"},
		},
		"a change": {
			loggedCall{procedure: "Patch", body: `{"resource":"pods","namespace":"a","name":"web-1","type":"PATCH_TYPE_MERGE","data":"e30=","dryRun":true}`},
			[]string{"Complete patch /v1/pods//a/web-1 409Conflict dry-run=true"},
		},
		"a resource that does not exist": {
			loggedCall{procedure: "List", body: `{"resource":"nosuch"}`},
			[]string{"Complete post 404NotFound resource=nosuch"},
		},
		"an invalid request": {
			loggedCall{procedure: "List", body: `{"nosuch":1}`},
			[]string{"Complete post 400BadRequest"},
		},
		"a request that is rejected before its permission is checked": {
			loggedCall{procedure: "Get", body: `{"resource":"pods","namespace":"a/b","name":"c"}`},
			[]string{"Complete get /v1/pods//a/b/c 400BadRequest"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.call.id, test.call.token = strings.ReplaceAll(name, " ", "-"), "Bearer jane"
			s.send(t, test.call)
			if got := shownEvents(s.events(t, test.call.id, len(test.want))); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// cachedIn are the namespaces that are cached, by resource; nil is all of them.
type cachedIn map[string][]string

func (c cachedIn) Namespaces(_ context.Context, resource informerhub.Resource) ([]string, error) {
	return c[resource.Name], nil
}

func (cachedIn) Denied(informerhub.Resource) {}

func (cachedIn) Changed() <-chan struct{} { return nil }

// TestAuditLog_HasReadsOfNamespacesThatAreNotCached has a relation to an object that is read at the API server, because its
// namespace is not cached.
func TestAuditLog_HasReadsOfNamespacesThatAreNotCached(t *testing.T) {
	s := newAuditedServiceWithHub(t, joinedAPI(), everything(), informerhub.Options{Scopes: cachedIn{"deployments": {"b"}}})
	s.send(t, loggedCall{procedure: "List", token: "Bearer jane", id: "uncached", body: `{"resource":"pods","namespace":"a",` +
		`"related":{"type":"RELATION_TYPE_SELECTED_BY","resource":"deployments","namespace":"a","name":"web"}}`})
	s.wantEvents(t, "uncached", "Complete list /v1/pods//a/ 400BadRequest decision=allow namespaces=a",
		"Complete get apps/v1/deployments//a/web 400BadRequest")
	s.send(t, loggedCall{procedure: "List", token: "Bearer jane", id: "joined", body: `{"resource":"pods","namespace":"a",` +
		`"joins":[{"name":"j","type":"JOIN_TYPE_OWNER_OF","resource":"deployments"}]}`})
	s.wantEvents(t, "joined", "Complete list /v1/pods//a/ 200 decision=allow namespaces=a objects=2") // nothing else is read
}

func TestAuditLog_EventsNameTheCallerAndItsRequest(t *testing.T) {
	s := newAuditedService(t, servertest.PodsAPI(), everything())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/kubeconnect.v1.ResourceService/List", strings.NewReader(`{"resource":"pods"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer jane", call.RequestIDHeader: "from-jane", "User-Agent": "agent/1", "X-Forwarded-For": "192.0.2.1",
		"Impersonate-User": "admin",
	} {
		request.Header.Set(name, value)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	event := s.events(t, "from-jane", 1)[0]
	got, err := json.Marshal([]any{event.TypeMeta, event.Level, event.RequestURI, event.User, event.ImpersonatedUser, event.UserAgent, event.SourceIPs})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"kind":"Event","apiVersion":"audit.k8s.io/v1"},"Metadata","/kubeconnect.v1.ResourceService/List",` +
		`{"username":"jane","uid":"uid-jane","groups":["team"],"extra":{"example.com/a":["b"]}},null,"agent/1",["192.0.2.1","127.0.0.1"]]`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if bytes, latency := event.Annotations["kubeconnect.dev/bytes"], event.Annotations["kubeconnect.dev/latency"]; bytes == "" || latency == "" {
		t.Errorf("the annotations are %v", event.Annotations)
	}
	if took := event.StageTimestamp.Sub(event.RequestReceivedTimestamp.Time); took <= 0 {
		t.Errorf("the stage is %v after the request", took)
	}
}

func TestAuditLog_HasCallsWithoutACaller(t *testing.T) {
	s := newAuditedService(t, servertest.PodsAPI(), everything())
	s.send(t, loggedCall{procedure: "List", body: `{"resource":"pods"}`, id: "unknown"})
	event := s.events(t, "unknown", 1)[0]
	if got, want := shownEvent(event), "Complete post 401Unauthorized"; got != want || event.User.Username != "" {
		t.Errorf("got %s of %q, want %s", got, event.User.Username, want)
	}
}

// TestAuditLog_HasNoHealthChecks makes a call after the health check, whose event would be written before.
func TestAuditLog_HasNoHealthChecks(t *testing.T) {
	s := newAuditedService(t, servertest.PodsAPI(), everything())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/grpc.health.v1.Health/Check", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.http.Do(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	s.send(t, loggedCall{procedure: "List", body: `{"resource":"pods"}`, token: "Bearer jane", id: "later"})
	s.events(t, "later", 1)
	if content, err := os.ReadFile(s.file); err != nil || strings.Contains(string(content), "Health") {
		t.Errorf("the log has the health check: %v, %s", err, content)
	}
}

// as returns a client of the caller jane, whose requests have an ID.
func (s auditedService) as(id string) kubeconnectv1connect.ResourceServiceClient {
	client := *s.http
	client.Transport = identified{s.http.Transport, id}
	transport := connecthttp.NewTransport(&client, s.url)
	return kubeconnectv1connect.NewResourceServiceClient(connect.NewClient(transport))
}

// identified sends requests with an ID, as the caller jane.
type identified struct {
	http.RoundTripper
	id string
}

func (i identified) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set(call.RequestIDHeader, i.id)
	request.Header.Set("Authorization", "Bearer jane")
	return i.RoundTripper.RoundTrip(request)
}

// wantEvents compares the events of a stream so far.
func (s auditedService) wantEvents(t *testing.T, id string, want ...string) {
	t.Helper()
	if got := shownEvents(s.events(t, id, len(want))); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAuditLog_StreamsHaveABeginningAndAnEnd watches while the caller gains a permission.
func TestAuditLog_StreamsHaveABeginningAndAnEnd(t *testing.T) {
	s := newAuditedService(t, servertest.TwoNamespaces(), servertest.NewFakeRights(servertest.Some("default")))
	stream, err := responses.Of(s.as("watch").Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods"}))
	if err != nil {
		t.Fatal(err)
	}
	receive(t, stream)
	const begun = "Started watch /v1/pods/// 200 decision=allow namespaces=default"
	s.wantEvents(t, "watch", begun)
	s.rights.Change(func() { s.rights.May = servertest.Some("default", "other") })
	for receive(t, stream).GetNamespaces() == nil {
	}
	const more = "Started watch /v1/pods/// 200 decision=allow namespaces=default,other"
	s.wantEvents(t, "watch", begun, more)
	_ = stream.Close()
	s.wantEvents(t, "watch", begun, more, "Complete watch /v1/pods/// 200 decision=allow events namespaces=default,other")
}

func TestAuditLog_HasTheEndOfALostPermission(t *testing.T) {
	s := newAuditedService(t, servertest.PodsAPI(), everything())
	stream, err := responses.Of(s.as("lost").Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: "default"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	receive(t, stream)
	s.rights.Change(func() { s.rights.May = servertest.Some() })
	for stream.Receive() {
	}
	s.wantEvents(t, "lost", "Started watch /v1/pods//default/ 200 decision=allow namespaces=default",
		"Complete watch /v1/pods//default/ 403Forbidden decision=forbid events")
}

// TestAuditLog_HasThePartsOfAStream opens a stream of which one part is denied, and one is of a resource that does not exist.
func TestAuditLog_HasThePartsOfAStream(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{})
	rights.Of = map[string]auth.Namespaces{"pods": {All: true}}
	s := newAuditedService(t, servertest.PodsAPI(), rights)
	request := &kubeconnectv1.WatchManyRequest{
		Independent: true,
		Watches:     []*kubeconnectv1.WatchSpec{{Resource: "nodes"}, {Resource: "nosuch"}, {Resource: "pods", Namespace: "default"}},
		Counts:      []*kubeconnectv1.WatchCountsRequest{{Resource: "pods"}},
	}
	stream, err := responses.Of(s.as("many").WatchMany(t.Context(), request))
	if err != nil {
		t.Fatal(err)
	}
	for seen := map[string]bool{}; len(seen) < 4; {
		if !stream.Receive() {
			t.Fatal(stream.Err())
		}
		switch response := stream.Msg(); {
		case response.GetError() != nil:
			seen[fmt.Sprint(response.GetWatchIndex())] = true
		case response.GetCounts().GetTotalCount() > 0:
			seen["counts"] = true
		case len(response.GetResponse().GetEvents()) > 1:
			seen["watch"] = true
		}
	}
	got := shownEvents(s.events(t, "many", 3))
	slices.Sort(got)
	want := []string{
		"Complete watch /v1/nodes/// 403Forbidden decision=forbid",
		"Started watch /v1/pods/// 200 decision=allow namespaces=*",
		"Started watch /v1/pods//default/ 200 decision=allow namespaces=default",
	}
	if !slices.Equal(got, want) {
		t.Errorf("while the stream is open, got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_ = stream.Close()
	got = shownEvents(s.events(t, "many", 6)[3:])
	want = []string{
		"Complete post 404NotFound resource=nosuch",
		"Complete watch /v1/pods//default/ 200 decision=allow events namespaces=default",
		"Complete watch /v1/pods/// 200 decision=allow namespaces=* objects=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("at its end, got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
