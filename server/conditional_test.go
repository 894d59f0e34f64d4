package server

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

const listPods = `{"resource":"pods"}`

// polledService is a service whose cache of pods is current: its fake API server responds with its
// current version when it is asked for it.
type polledService struct {
	*service
	version *atomic.Int64
}

func newPolledService(t *testing.T, rights *servertest.FakeRights) polledService {
	t.Helper()
	api, version := servertest.PodsAPI(), &atomic.Int64{}
	version.Store(10)
	api.List = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[]}`, version.Load())
	})
	return polledService{withRights(t, api, rights), version}
}

// change sends an event at a version, and blocks until the cache has reached it.
func (s polledService) change(t *testing.T, version int64, event servertest.WatchEvent) {
	t.Helper()
	s.version.Store(version)
	s.api.Events <- event
	request := &kubeconnectv1.CountRequest{Resource: "pods", MinResourceVersion: fmt.Sprint(version)}
	if _, err := s.resources.Count(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// everything returns a caller that can read all namespaces.
func everything() *servertest.FakeRights { return servertest.NewFakeRights(auth.Namespaces{All: true}) }

// polled is a response to a read by GET.
type polled struct {
	status int
	header http.Header
	body   string
}

func (p polled) tag() string { return p.header.Get("ETag") }

// get reads by GET, with the tag of an earlier response; empty for none.
func (s *service) get(t *testing.T, rpc, message, tag string, more ...string) polled {
	t.Helper()
	query := url.Values{"connect": {"v1"}, "encoding": {"json"}, "message": {message}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/kubeconnect.v1."+rpc+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer any")
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	for i := 0; i < len(more); i += 2 {
		request.Header.Set(more[i], more[i+1])
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return polled{answer.StatusCode, answer.Header, string(body)}
}

// wantNotModified fails the test unless a read with a tag is answered by a complete 304.
func (s *service) wantNotModified(t *testing.T, rpc, message, tag string) {
	t.Helper()
	answer := s.get(t, rpc, message, tag)
	if answer.status != http.StatusNotModified || answer.body != "" || answer.tag() == "" ||
		answer.header.Get("Cache-Control") != "private, no-cache" || !strings.Contains(strings.Join(answer.header.Values("Vary"), ","), "Authorization") {
		t.Errorf("%s %s: %d %v %q, want 304", rpc, message, answer.status, answer.header, answer.body)
	}
}

func (s *service) wantModified(t *testing.T, rpc, message, tag string) polled {
	t.Helper()
	answer := s.get(t, rpc, message, tag)
	if answer.status != http.StatusOK || answer.tag() == "" || answer.tag() == tag {
		t.Errorf("%s %s: %d %s, want 200 with another tag", rpc, message, answer.status, answer.tag())
	}
	return answer
}

func TestConditional_ReadsHaveATagAndAreNotSentAgain(t *testing.T) {
	s := newPolledService(t, everything())
	for rpc, message := range map[string]string{
		"ResourceService/Get":                `{"resource":"pods","namespace":"default","name":"a"}`,
		"ResourceService/List":               listPods,
		"ResourceService/Count":              `{"resource":"pods","groupBy":["spec.nodeName"]}`,
		"DiscoveryService/ListResourceTypes": `{}`,
		"DiscoveryService/GetSchema":         listPods,
		"AccessService/CheckAccess":          `{"checks":[{"verb":"get","resource":"pods"}]}`,
	} {
		t.Run(rpc, func(t *testing.T) {
			answer := s.get(t, rpc, message, "")
			if answer.status != http.StatusOK || !strings.HasPrefix(answer.tag(), `W/"`) || answer.header.Get("Cache-Control") != "private, no-cache" {
				t.Fatalf("%d %v %s", answer.status, answer.header, answer.body)
			}
			s.wantNotModified(t, rpc, message, answer.tag())
			s.wantModified(t, rpc, message, `W/"other"`)
			s.wantModified(t, rpc, message, "*")
		})
	}
}

func TestConditional_PagesAndLaterPagesHaveTheirOwnTags(t *testing.T) {
	s := newPolledService(t, everything())
	first := `{"resource":"pods","pageSize":1}`
	answer := s.get(t, "ResourceService/List", first, "")
	s.wantNotModified(t, "ResourceService/List", first, answer.tag())
	_, rest, _ := strings.Cut(strings.ReplaceAll(answer.body, " ", ""), `"nextPageToken":"`)
	token, _, _ := strings.Cut(rest, `"`)
	second := `{"resource":"pods","pageSize":1,"pageToken":"` + token + `"}`
	later := s.wantModified(t, "ResourceService/List", second, answer.tag())
	s.wantNotModified(t, "ResourceService/List", second, later.tag())
}

// parts returns the state and the content of a tag.
func parts(tag string) (state, content string) {
	state, content, _ = strings.Cut(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`), ".")
	return state, content
}

// TestConditional_EachPartOfATagIsEnough replaces one part by that of another response.
func TestConditional_EachPartOfATagIsEnough(t *testing.T) {
	s := newPolledService(t, everything())
	state, content := parts(s.get(t, "ResourceService/List", listPods, "").tag())
	otherState, otherContent := parts(s.get(t, "ResourceService/Count", listPods, "").tag())
	s.wantNotModified(t, "ResourceService/List", listPods, `W/"`+state+"."+otherContent+`"`)
	s.wantNotModified(t, "ResourceService/List", listPods, `W/"`+otherState+"."+content+`"`)
	s.wantNotModified(t, "ResourceService/List", listPods, `W/".`+content+`"`)
	s.wantModified(t, "ResourceService/List", listPods, `W/"`+otherState+"."+otherContent+`"`)
	s.wantModified(t, "ResourceService/List", listPods, `W/".`+otherContent+`"`)
}

func TestConditional_ChangesAreSent(t *testing.T) {
	relabeled := objecttest.Pod("a", 11)
	relabeled.Labels = map[string]string{"app": "web"}
	for name, event := range map[string]servertest.WatchEvent{
		"a creation": servertest.Added(objecttest.Pod("c", 11)),
		"an update":  servertest.Modified(objecttest.Pod("a", 11)),
		"a label":    servertest.Modified(relabeled),
		"a deletion": servertest.Deleted(objecttest.Pod("b", 11)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newPolledService(t, everything())
			before := s.get(t, "ResourceService/List", listPods, "")
			s.change(t, 11, event)
			after := s.wantModified(t, "ResourceService/List", listPods, before.tag())
			s.wantNotModified(t, "ResourceService/List", listPods, after.tag())
		})
	}
}

// TestConditional_DeletionsAtOneVersionAreSent deletes two pods that share a lease of etcd.
func TestConditional_DeletionsAtOneVersionAreSent(t *testing.T) {
	s := newPolledService(t, everything())
	f := followPods(t, s.service, "")
	f.want("RESET", "ADDED default/a", "ADDED default/b", "SYNCED")
	s.change(t, 11, servertest.Deleted(objecttest.Pod("a", 11)))
	f.want("DELETED default/a")
	before := s.get(t, "ResourceService/List", listPods, "")
	s.api.Events <- servertest.Deleted(objecttest.Pod("b", 11))
	f.want("DELETED default/b")
	after := s.wantModified(t, "ResourceService/List", listPods, before.tag())
	for name, answer := range map[string]polled{"before": before, "after": after} {
		if text := strings.ReplaceAll(answer.body, " ", ""); !strings.Contains(text, `"resourceVersion":"11"`) {
			t.Errorf("%s: the response is %s", name, text)
		}
	}
}

// TestConditional_UnselectedChangesAreNotSent changes what a response does not contain: the state
// differs, and the content is the same.
func TestConditional_UnselectedChangesAreNotSent(t *testing.T) {
	s := newPolledService(t, everything())
	one := `{"resource":"pods","fieldSelector":"metadata.name=a"}`
	before := s.get(t, "ResourceService/List", one, "")
	s.change(t, 11, servertest.Modified(objecttest.Pod("b", 11)))
	s.wantNotModified(t, "ResourceService/List", one, before.tag())
	beforeState, beforeContent := parts(before.tag())
	afterState, afterContent := parts(s.get(t, "ResourceService/List", one, before.tag()).tag())
	if beforeState == afterState || beforeContent != afterContent {
		t.Errorf("the tag was %s.%s, and is %s.%s", beforeState, beforeContent, afterState, afterContent)
	}
}

func TestConditional_TagsAreOfOneCallerAndItsPermissions(t *testing.T) {
	rights := everything()
	s := newPolledService(t, rights)
	before := s.get(t, "ResourceService/List", listPods, "")
	s.wantNotModified(t, "ResourceService/List", listPods, before.tag())

	rights.Change(func() { rights.May = auth.Namespaces{Names: []string{"other"}} })
	fewer := s.wantModified(t, "ResourceService/List", listPods, before.tag())
	if strings.Contains(fewer.body, "uid-a") {
		t.Errorf("the response is %s", fewer.body)
	}
	rights.Change(func() { rights.May = auth.Namespaces{} })
	if denied := s.get(t, "ResourceService/List", listPods, before.tag()); denied.status != http.StatusForbidden {
		t.Errorf("without permissions: %d", denied.status)
	}
	rights.Change(func() { rights.May = auth.Namespaces{All: true} })
	s.wantNotModified(t, "ResourceService/List", listPods, before.tag())
	rights.Change(func() { rights.Who.Username = "joe" })
	s.wantModified(t, "ResourceService/List", listPods, before.tag())
	rights.Change(func() { rights.Refused = auth.ErrUnauthenticated })
	if unknown := s.get(t, "ResourceService/List", listPods, before.tag()); unknown.status != http.StatusUnauthorized {
		t.Errorf("without a valid token: %d", unknown.status)
	}
}

func TestConditional_ErrorsAreNeverStored(t *testing.T) {
	s := newPolledService(t, everything())
	for name, test := range map[string]struct {
		answer polled
		status int
	}{
		"a missing object":       {s.get(t, "ResourceService/Get", `{"resource":"pods","namespace":"default","name":"x"}`, ""), 404},
		"an invalid request":     {s.get(t, "ResourceService/List", `{"resource":"pods","labelSelector":"("}`, ""), 400},
		"invalid JSON":           {s.get(t, "ResourceService/List", `{`, ""), 400},
		"a missing token":        {s.get(t, "ResourceService/List", listPods, "", "Authorization", ""), 403},
		"a page of another site": {s.get(t, "ResourceService/List", listPods, "", "Sec-Fetch-Site", "cross-site"), 403},
		"a stream":               {s.get(t, "ResourceService/Watch", listPods, ""), 405},
		"a change":               {s.get(t, "ResourceService/Delete", listPods, ""), 405},
		"an unknown RPC":         {s.get(t, "ResourceService/Unknown", listPods, ""), 404},
	} {
		if test.answer.status != test.status || test.answer.header.Get("Cache-Control") != "no-store" || test.answer.tag() != "" {
			t.Errorf("%s: %d %v", name, test.answer.status, test.answer.header)
		}
	}
}

func TestConditional_OnlyGETHasTheHeaders(t *testing.T) {
	s := newPolledService(t, everything())
	tag := s.get(t, "ResourceService/List", listPods, "").tag()
	post := send(t, s.service, http.MethodPost, listPath, listPods, http.Header{"Authorization": {"Bearer any"}, "If-None-Match": {tag}})
	if post.StatusCode != http.StatusOK || post.Header.Get("ETag")+post.Header.Get("Cache-Control")+post.Header.Get("Vary") != "" {
		t.Errorf("POST: %d %v", post.StatusCode, post.Header)
	}
	if head := send(t, s.service, http.MethodHead, listByGet, "", http.Header{"Authorization": {"Bearer any"}}); head.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %d", head.StatusCode)
	}
}

func TestConditional_CompressedResponsesHaveTheSameTag(t *testing.T) {
	s := newServiceOf(t, largePodAPI(), Config{
		Edge:       edge.Config{Compression: edge.CompressGzip, Authenticator: auth.KubeconfigAuthenticator{}},
		Authorizer: everything(),
	})
	plain := s.get(t, "ResourceService/List", listPods, "", "Accept-Encoding", "identity")
	packed := s.get(t, "ResourceService/List", listPods, "", "Accept-Encoding", "gzip")
	if packed.header.Get("Content-Encoding") != "gzip" || plain.header.Get("Content-Encoding") != "" || packed.tag() != plain.tag() {
		t.Errorf("plain %v, compressed %v", plain.header, packed.header)
	}
	if vary := strings.Join(packed.header.Values("Vary"), ","); !strings.Contains(vary, "Accept-Encoding") {
		t.Errorf("Vary is %q", vary)
	}
	unchanged := s.get(t, "ResourceService/List", listPods, plain.tag(), "Accept-Encoding", "gzip")
	if unchanged.status != http.StatusNotModified || unchanged.header.Get("Content-Encoding") != "" || unchanged.body != "" {
		t.Errorf("%d %v %q", unchanged.status, unchanged.header, unchanged.body)
	}
}

func TestConditional_CountsA304AsASuccess(t *testing.T) {
	metrics := observe.NewMetrics()
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}, Metrics: metrics}, Authorizer: everything()})
	tag := s.get(t, "ResourceService/List", listPods, "").tag()
	s.wantNotModified(t, "ResourceService/List", listPods, tag)
	metricstest.WantLines(t, metrics, "kubeconnect_calls_total", `{code="ok",procedure="/kubeconnect.v1.ResourceService/List"} 2`)
}

// TestConditional_ConnectClientsReadByGET reads with a client of connect in binary, which sends the
// message in base64.
func TestConditional_ConnectClientsReadByGET(t *testing.T) {
	s := newPolledService(t, everything())
	client := kubeconnectv1connect.NewResourceServiceClient(s.client(connecthttp.WithHTTPGet()))
	list := func(tag string) (*kubeconnectv1.ListResponse, *connect.Header, error) {
		ctx, call := connect.NewClientContext(t.Context())
		call.RequestHeader().Set("Authorization", "Bearer any")
		call.RequestHeader().Set("If-None-Match", tag)
		response, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Encoding: asJSON})
		return response, call.ResponseHeader(), err
	}
	response, header, err := list("")
	if err != nil {
		t.Fatal(err)
	}
	if len(response.GetObjects()) != 2 || header.Get("ETag") == "" {
		t.Errorf("%v %v", header, response)
	}
	if _, _, err := list(header.Get("ETag")); !connecthttp.IsNotModifiedError(err) {
		t.Errorf("with the tag: %v", err)
	}
}
