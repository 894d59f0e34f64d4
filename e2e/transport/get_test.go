package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// poller reads by GET as a dashboard or a script does: it stores the last response, and sends its
// tag.
type poller struct {
	ctx     context.Context
	t       *testing.T
	http    *http.Client
	url     string // of an RPC
	message string
	token   string

	tag  string // of the stored response; empty without one
	body map[string]any
}

func newPoller(ctx context.Context, t *testing.T, service *harness.Service, token, rpc, message string) *poller {
	return &poller{ctx: ctx, t: t, http: harness.HTTP2(t), url: service.Address + "/kubeconnect.v1." + rpc, message: message, token: token}
}

// poll reads by GET and returns the status. After 200 and 304 the stored response is the current one.
func (p *poller) poll() int {
	p.t.Helper()
	query := url.Values{"connect": {"v1"}, "encoding": {"json"}, "message": {p.message}}
	status, header, body := p.send(http.MethodGet, p.url+"?"+query.Encode(), "", http.Header{"If-None-Match": {p.tag}})
	switch status {
	case http.StatusOK:
		p.body = p.decode(body)
	case http.StatusNotModified:
		if len(body) > 0 {
			p.t.Errorf("304 has the body %s", body)
		}
	default:
		if header.Get("Cache-Control") != "no-store" || header.Get("ETag") != "" {
			p.t.Errorf("status %d has the headers %v", status, header)
		}
		return status
	}
	if p.tag = header.Get("ETag"); p.tag == "" || header.Get("Cache-Control") != "private, no-cache" {
		p.t.Errorf("status %d has the headers %v", status, header)
	}
	return status
}

// want polls, and fails the test unless the response has the status.
func (p *poller) want(status int, when string) {
	p.t.Helper()
	if got := p.poll(); got != status {
		p.t.Errorf("%s: status %d, want %d", when, got, status)
	}
}

// post returns the response to the same request by POST; nil after an error.
func (p *poller) post() map[string]any {
	p.t.Helper()
	status, header, body := p.send(http.MethodPost, p.url, p.message, nil)
	if header.Get("ETag") != "" || header.Get("Cache-Control") != "" {
		p.t.Errorf("a response to POST has the headers %v", header)
	}
	if status != http.StatusOK {
		return nil
	}
	return p.decode(body)
}

func (p *poller) send(method, address, body string, more http.Header) (status int, header http.Header, content []byte) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.ctx, method, address, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Content-Type", "application/json")
	for name, values := range more {
		request.Header[name] = values
	}
	answer, err := p.http.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if content, err = io.ReadAll(answer.Body); err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, content
}

// decode returns a response without what a stored response may have older: the version of a list,
// and the time of the last contact with the API server.
func (p *poller) decode(body []byte) map[string]any {
	p.t.Helper()
	var decoded map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		p.t.Fatalf("%v: %s", err, body)
	}
	delete(decoded, "resourceVersion")
	if freshness, ok := decoded["freshness"].(map[string]any); ok {
		delete(freshness, "lastContactTime")
	}
	return decoded
}

// check returns an error unless the stored response is what POST returns.
func (p *poller) check() error {
	if current := p.post(); !reflect.DeepEqual(p.body, current) {
		return fmt.Errorf("the stored response is %v, and POST returns %v", p.body, current)
	}
	return nil
}

// awaits blocks until the service has a version of ConfigMaps.
func (p *poller) awaits(version string) {
	p.t.Helper()
	count := *p
	count.url = p.url[:strings.LastIndexByte(p.url, '/')] + "/Count"
	count.message = fmt.Sprintf(`{"resource":"configmaps","minResourceVersion":%q}`, version)
	kit.Eventually(p.ctx, p.t, "the service has the version "+version, func() error {
		if count.post() == nil {
			return fmt.Errorf("%s is not reached", version)
		}
		return nil
	})
}

func TestGET_EveryReadIsThatOfPOSTAndIsSentOnce(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	write.Create("one", kit.Labels{"tier": "backend"})
	write.Create("other", kit.Labels{"tier": "frontend"})
	in := func(rest string) string {
		return fmt.Sprintf(`{"resource":"configmaps","namespace":%q%s}`, namespace, rest)
	}
	for name, test := range map[string]struct{ rpc, message string }{
		"an object":                     {"ResourceService/Get", in(`,"name":"one"`)},
		"an object of the API server":   {"ResourceService/Get", in(`,"name":"one","consistency":"CONSISTENCY_LATEST"`)},
		"a list":                        {"ResourceService/List", in("")},
		"a list as JSON":                {"ResourceService/List", in(`,"encoding":"ENCODING_JSON"`)},
		"a list as protobuf":            {"ResourceService/List", in(`,"encoding":"ENCODING_PROTOBUF"`)},
		"a list in an order":            {"ResourceService/List", in(`,"orderBy":"metadata.labels.tier desc"`)},
		"a list with fields, filtered":  {"ResourceService/List", in(`,"fields":["metadata.labels"],"filter":"object.metadata.labels.tier == 'backend'"`)},
		"a list of the API server":      {"ResourceService/List", in(`,"consistency":"CONSISTENCY_LATEST"`)},
		"related objects":               {"ResourceService/List", fmt.Sprintf(`{"resource":"events","related":{"type":"RELATION_TYPE_ABOUT","resource":"configmaps","namespace":%q,"name":"one"}}`, namespace)},
		"a count":                       {"ResourceService/Count", in(`,"groupBy":["metadata.labels.tier"]`)},
		"a table":                       {"ResourceService/GetTable", in("")},
		"resource types":                {"DiscoveryService/ListResourceTypes", `{"group":"coordination.k8s.io"}`},
		"a schema":                      {"DiscoveryService/GetSchema", `{"resource":"configmaps"}`},
		"the caller":                    {"AccessService/WhoAmI", `{}`},
		"permissions":                   {"AccessService/CheckAccess", `{"checks":[{"verb":"get","resource":"configmaps"}]}`},
		"an empty list":                 {"ResourceService/List", in(`,"labelSelector":"tier=none"`)},
		"the first page of two":         {"ResourceService/List", in(`,"pageSize":1,"consistency":"CONSISTENCY_CACHED"`)},
		"an object reduced to metadata": {"ResourceService/Get", in(`,"name":"one","metadataOnly":true`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			// Other tests change other ConfigMaps, and the age in a table changes by itself.
			kit.Eventually(ctx, t, "the response is that of POST, and is not sent again", func() error {
				p := newPoller(ctx, t, service, "any", test.rpc, test.message)
				p.want(http.StatusOK, "without a tag")
				if status := p.poll(); status != http.StatusNotModified {
					return fmt.Errorf("with the tag: status %d", status)
				}
				if current := p.post(); !strings.Contains(test.message, "pageSize") && !reflect.DeepEqual(p.body, current) {
					return fmt.Errorf("GET returns %v, POST returns %v", p.body, current)
				}
				return nil
			})
		})
	}
}

// TestGET_StoredResponseFollowsEveryChange polls after each random change.
func TestGET_StoredResponseFollowsEveryChange(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	one, other := harness.StartService(t, kit.Cluster(t).Kubeconfig), harness.StartService(t, kit.Cluster(t).Kubeconfig)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	var pollers []*poller
	for _, message := range []string{``, `,"labelSelector":"tier=web"`, `,"labelSelector":"tier=db","fields":["metadata.name"]`, `,"pageSize":2`} {
		message = fmt.Sprintf(`{"resource":"configmaps","namespace":%q%s}`, namespace, message)
		pollers = append(pollers, newPoller(ctx, t, one, "any", "ResourceService/List", message),
			newPoller(ctx, t, other, "any", "ResourceService/List", message))
	}
	pollers = append(pollers, newPoller(ctx, t, one, "any", "ResourceService/Count", fmt.Sprintf(`{"resource":"configmaps","namespace":%q,"groupBy":["metadata.labels.tier"]}`, namespace)))
	objects, sent, unsent := map[string]bool{}, 0, 0
	for step := range 60 {
		version := changeAtRandom(write, objects, step)
		for i, p := range pollers {
			p.awaits(version)
			if i%2 == 1 {
				p.tag, p.body = pollers[i-1].tag, pollers[i-1].body // a client that another replica serves now
			}
			switch status := p.poll(); status {
			case http.StatusOK:
				sent++
			case http.StatusNotModified:
				unsent++
			default:
				t.Fatalf("status %d", status)
			}
			if strings.Contains(p.message, "pageSize") {
				delete(p.body, "nextPageToken") // it has the time
			}
			current := p.post()
			delete(current, "nextPageToken")
			if !reflect.DeepEqual(p.body, current) {
				t.Fatalf("step %d: %s: the stored response is %v, and POST returns %v", step, p.message, p.body, current)
			}
		}
	}
	if sent == 0 || unsent == 0 {
		t.Errorf("%d responses were sent, and %d were not", sent, unsent)
	}
}

// changeAtRandom changes one of some ConfigMaps, and returns the version of the change.
func changeAtRandom(write kit.ConfigMaps, objects map[string]bool, step int) (version string) {
	name := fmt.Sprintf("object-%d", rand.N(4))
	tier := []string{"web", "db", "cache"}[rand.N(3)]
	switch {
	case !objects[name]:
		objects[name] = true
		return write.Create(name, kit.Labels{"tier": tier}).ResourceVersion
	case rand.N(3) == 0:
		before := write.Get(name)
		write.Delete(name)
		delete(objects, name)
		return write.DeletedAt(before, before.ResourceVersion)
	case rand.N(2) == 0:
		return write.Relabel(name, map[string]any{"tier": tier, "step": fmt.Sprint(step)}).ResourceVersion
	}
	return write.Touch(name, fmt.Sprint(step)).ResourceVersion
}

func TestGET_SchemaChangeIsSentAtTheSameVersion(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service, namespace := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	one := gadgets.Create("v1", namespace, "one", map[string]any{"size": "small"})
	list := newPoller(ctx, t, service, "any", "ResourceService/List", fmt.Sprintf(`{"resource":%q,"namespace":%q}`, gadgets.Name(), namespace))
	object := newPoller(ctx, t, service, "any", "ResourceService/Get", fmt.Sprintf(`{"resource":%q,"namespace":%q,"name":"one"}`, gadgets.Name(), namespace))
	for _, p := range []*poller{list, object} {
		kit.Eventually(ctx, t, "the response is not sent again", func() error {
			p.poll()
			if status := p.poll(); status != http.StatusNotModified {
				return fmt.Errorf("status %d", status)
			}
			return p.check()
		})
	}
	gadgets.Patch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/default","value":"green"}]`))
	for _, p := range []*poller{list, object} {
		kit.Eventually(ctx, t, "the default is served", func() error {
			if !strings.Contains(fmt.Sprint(p.post()), "green") {
				return fmt.Errorf("the response has no color")
			}
			return nil
		})
		p.want(http.StatusOK, "after the default was added")
		if text := fmt.Sprint(p.body); !strings.Contains(text, "green") || !strings.Contains(text, one.GetResourceVersion()) {
			t.Errorf("the response is %s", text)
		}
	}
}

func TestGET_PermissionsAndCallersHaveTagsOfTheirOwn(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := kit.StartForCallers(t)
	one, other := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	reads := func(t *testing.T, namespace, name string) kit.Account {
		account := kit.NewAccount(ctx, t, one, name)
		account.GrantIn(namespace, name, kit.Rule("configmaps", "list", "get"))
		return account
	}
	jane, joe := reads(t, one, "jane"), reads(t, one, "joe")
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), one).Create("in-one", nil)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), other).Create("in-other", nil)
	const all = `{"resource":"configmaps","fields":["metadata.name"]}`
	p := newPoller(ctx, t, service, jane.Token(), "ResourceService/List", all)
	untilReads := func(words ...string) {
		t.Helper()
		kit.Eventually(ctx, t, fmt.Sprintf("the caller reads %q", words), func() error {
			text := fmt.Sprint(p.post())
			for _, name := range []string{"in-one", "in-other"} {
				if want := strings.Contains(fmt.Sprint(words), name); strings.Contains(text, name) != want {
					return fmt.Errorf("the response is %s", text)
				}
			}
			return nil
		})
	}
	untilReads("in-one")
	p.want(http.StatusOK, "at first")
	p.want(http.StatusNotModified, "unchanged")

	stranger := newPoller(ctx, t, service, joe.Token(), "ResourceService/List", all)
	kit.Eventually(ctx, t, "the other caller has its permission", func() error {
		if stranger.post() == nil {
			return fmt.Errorf("denied")
		}
		return nil
	})
	stranger.tag = p.tag
	stranger.want(http.StatusOK, "the tag of another caller")

	jane.GrantIn(other, "more", kit.Rule("configmaps", "list"))
	untilReads("in-one", "in-other")
	p.want(http.StatusOK, "after a grant")
	jane.RevokeIn(other, "more")
	untilReads("in-one")
	p.want(http.StatusOK, "after a revocation")
	jane.RevokeIn(one, "jane")
	untilReads()
	p.want(http.StatusForbidden, "after the last revocation")
	p.token = "expired"
	p.want(http.StatusUnauthorized, "without a valid token")
}

func TestGET_StaleResponsesAreSentBeforeAndAfterAnOutage(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	link := harness.StartProxy(t, kit.Cluster(t).Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, kit.Cluster(t).Kubeconfig, link.Address()))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	p := newPoller(ctx, t, service, "any", "ResourceService/List", fmt.Sprintf(`{"resource":"configmaps","namespace":%q}`, namespace))
	untilStale := func(want bool) {
		t.Helper()
		kit.Eventually(ctx, t, fmt.Sprintf("the response is stale: %v", want), func() error {
			if stale := strings.Contains(fmt.Sprint(p.post()["freshness"]), "stale:true"); stale != want {
				return fmt.Errorf("it is stale: %v", stale)
			}
			return nil
		})
	}
	untilStale(false)
	p.want(http.StatusOK, "at first")
	fresh := *p

	link.Set(harness.Refused)
	untilStale(true)
	p.want(http.StatusOK, "with the tag of a response that is not stale")
	p.want(http.StatusNotModified, "with the tag of the stale response")

	link.Set(harness.None)
	untilStale(false)
	p.want(http.StatusOK, "with the tag of the stale response, when it is no longer stale")
	fresh.want(http.StatusNotModified, "with the first tag")
}
