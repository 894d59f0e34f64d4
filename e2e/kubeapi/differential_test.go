package kubeapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// readsOfRound is the number of requests that are compared.
const readsOfRound = 500

// TestReads_AreThoseOfTheAPIServer sends random reads to the API server and to two replicas. Status, form and content must be equal, but
// for managedFields, which the service does not keep, and for the version of a read that may be of any version.
func TestReads_AreThoseOfTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
	w := newWorld(ctx, t)
	replicas := []*harness.Service{kit.StartForCallers(t), kit.StartForCallers(t)}
	w.warm(ctx, replicas)
	w.populate(ctx)
	rnd := newRandom(t)
	versions := w.versions(ctx)
	client := serviceClient(t)
	cached, different := 0, 0
	for range kit.Rounds(t) * readsOfRound {
		read := w.randomRead(rnd, versions)
		want := read.send(ctx, t, w.api, apiAddress(t))
		for _, replica := range replicas {
			got := read.send(ctx, t, client, replica.Address)
			if difference := read.difference(want, got); difference != "" {
				if different++; different <= shownDifferences {
					t.Errorf("%s: %s\nAPI server: %s\nservice: %s", read, difference, want, got)
				}
			}
			if got.isCached {
				cached++
			}
		}
	}
	if cached == 0 {
		t.Error("no response was from a cache")
	}
	t.Logf("%d responses were from a cache, and %d differed", cached, different)
}

// read is a request that changes nothing.
type read struct {
	caller caller
	path   string
	query  url.Values
	accept string
	isAny  bool // of any version
}

func (r read) String() string {
	return fmt.Sprintf("GET %s?%s as %s, accepting %q", r.path, r.query.Encode(), r.caller.name, r.accept)
}

// accepted are the forms that clients ask for.
var accepted = []string{
	"", "application/json", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/json;as=Table;g=meta.k8s.io;v=v1,application/json", "application/yaml", "text/plain", "text/plain;q=0.9, application/json;q=0.5", "*/*", "application/*",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
}

// versions returns versions that reads ask for: of different ages, one of the future, and invalid ones.
func (w *world) versions(ctx context.Context) []string {
	list, err := kit.Cluster(w.t).Client.CoreV1().ConfigMaps(w.namespaces[0]).List(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	versions := []string{"", "", "", "0", "0", list.ResourceVersion, "1", "x"}
	for _, object := range list.Items {
		versions = append(versions, object.ResourceVersion)
	}
	return versions
}

func newRandom(t *testing.T) *rand.Rand { return rand.New(rand.NewPCG(kit.NewSeed(t), 0)) }

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

func (w *world) randomRead(rnd *rand.Rand, versions []string) read {
	all := w.callers[0]
	r := read{caller: pick(rnd, append(w.callers, all, all, all)...), query: url.Values{}, accept: pick(rnd, accepted...)}
	if rnd.IntN(20) == 0 { // paths that are not clean
		r.path = pick(rnd, "/api/v1/namespaces/"+w.namespaces[0]+"/configmaps//object-1", "/api/v1//configmaps", "/api/v1/namespaces/"+w.namespaces[0]+"/configmaps/", "/api/v1/namespaces/x/../configmaps")
		r.isAny = true
		return r
	}
	group := pick(rnd, "/api/v1", "/api/v1", "/apis/"+w.gadgets.Group+"/v1")
	resource := "gadgets"
	if group == "/api/v1" {
		resource = pick(rnd, "configmaps", "configmaps", "configmaps", "configmaps", "configmaps", "pods", "pods", "unknowns")
	}
	namespace := pick(rnd, "", w.namespaces[0], w.namespaces[0], w.namespaces[1], "missing")
	r.path = group
	if namespace != "" {
		r.path += "/namespaces/" + namespace
	}
	r.path += "/" + resource
	version := pick(rnd, versions...)
	if version != "" {
		r.query.Set("resourceVersion", version)
	}
	if namespace != "" && rnd.IntN(4) == 0 {
		r.path += "/" + pick(rnd, "object-1", "object-2", "pod-0", "gadget", "missing", "object-1/status")
		r.isAny = true
		return r
	}
	match := pick(rnd, "", "", "", "", "Exact", "Exact", "NotOlderThan", "NotOlderThan", "invalid")
	if match != "" {
		r.query.Set("resourceVersionMatch", match)
	}
	for name, value := range map[string]string{
		"limit":         pick(rnd, "", "", "", "1", "1", "5", "5", "100", "0", "-1", "x"),
		"fieldSelector": pick(rnd, "", "", "", "", "", "", "metadata.name=object-1", "metadata.namespace!="+w.namespaces[0], "metadata.name!=object-2", "spec.nodeName=node-1", "unknown=1", "a"),
		"pretty":        pick(rnd, "", "", "", "", "true", "false"),
	} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	w.selectBy(r, pick(rnd, "", "", "", "", "color=red", "color=red", "color in (red,green),!other", "color notin (red)", "color==", "a b"))
	isWhole := slices.Contains([]string{"", "0", "-1"}, r.query.Get("limit"))
	r.isAny = version == "" || version == "0" || match != "Exact" && isWhole || match == "NotOlderThan" ||
		r.query.Get("fieldSelector") == "metadata.name=object-1" // the API server reads the object as it is now
	return r
}

// answer is the response to a read.
type answer struct {
	status      int
	contentType string
	body        []byte
	items       []any // of all pages
	isCached    bool
	err         error
}

func (a answer) String() string {
	text := string(a.body)
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return fmt.Sprintf("%d %s %q", a.status, a.contentType, text)
}

// send sends the read, and follows the pages.
func (r read) send(ctx context.Context, t *testing.T, client *http.Client, address string) answer {
	t.Helper()
	a := r.sendOnce(ctx, t, client, address, "")
	if a.err != nil || a.status != http.StatusOK {
		return a
	}
	next := a
	for {
		decoded := r.decode(next)
		items, _ := decoded["items"].([]any)
		a.items = append(a.items, items...)
		metadata, _ := decoded["metadata"].(map[string]any)
		token, _ := metadata["continue"].(string)
		if token == "" {
			return a
		}
		if next = r.sendOnce(ctx, t, client, address, token); next.status != http.StatusOK {
			a.err = fmt.Errorf("the next page: %s", next)
			return a
		}
	}
}

func (r read) sendOnce(ctx context.Context, t *testing.T, client *http.Client, address, token string) answer {
	t.Helper()
	query := url.Values{}
	for name, values := range r.query {
		query[name] = values
	}
	if token != "" {
		query.Set("continue", token)
		query.Del("resourceVersion")
		query.Del("resourceVersionMatch")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+r.path+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.caller.token)
	if r.accept != "" {
		request.Header.Set("Accept", r.accept)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, contentType: response.Header.Get("Content-Type"), body: body, err: err, isCached: response.Header.Get("Kubeconnect-Source") == "cache"}
}

var protobufScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err)
	}
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}()

// decode returns the content of a response, without what differs between the service and the API server.
func (r read) decode(a answer) map[string]any {
	if a.contentType == "application/yaml" {
		return nil // is passed on, and has the version of the moment
	}
	text := a.body
	if strings.HasPrefix(a.contentType, runtime.ContentTypeProtobuf) {
		object, _, err := serializer.NewCodecFactory(protobufScheme).UniversalDeserializer().Decode(a.body, nil, nil)
		if err != nil {
			return map[string]any{"undecoded": err.Error()}
		}
		text, _ = json.Marshal(object)
	}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		return map[string]any{"text": string(text)}
	}
	stripManagedFields(content)
	if rows, isTable := content["rows"].([]any); isTable {
		for _, row := range rows {
			delete(row.(map[string]any), "cells") // one of them is an age
		}
	}
	return content
}

func stripManagedFields(value any) {
	switch value := value.(type) {
	case map[string]any:
		if metadata, ok := value["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
		for _, member := range value {
			stripManagedFields(member)
		}
	case []any:
		for _, element := range value {
			stripManagedFields(element)
		}
	}
}

// difference returns in what the response of the service differs; empty if it does not.
func (r read) difference(want, got answer) string {
	switch {
	case want.err != nil || got.err != nil:
		return fmt.Sprintf("errors %v and %v", want.err, got.err)
	case want.status != got.status:
		return "the status"
	case want.contentType != got.contentType:
		return fmt.Sprintf("the content type: %q", got.contentType)
	}
	wantContent, gotContent := r.decode(want), r.decode(got)
	if _, isList := wantContent["items"]; isList && want.status == http.StatusOK {
		wantItems, _ := wantContent["items"].([]any)
		if !reflect.DeepEqual(want.items, got.items) {
			return fmt.Sprintf("the items: %d, want %d", len(got.items), len(want.items))
		}
		wantMeta, _ := wantContent["metadata"].(map[string]any)
		gotMeta, _ := gotContent["metadata"].(map[string]any)
		gotItems, _ := gotContent["items"].([]any)
		hasMore := func(meta map[string]any) bool { return meta["continue"] != nil && meta["continue"] != "" }
		// The API server announces another page also if no object that is left matches the selectors.
		isSelected := r.query.Get("labelSelector") != "" || r.query.Get("fieldSelector") != ""
		if hasMore(gotMeta) && !hasMore(wantMeta) || hasMore(wantMeta) && !hasMore(gotMeta) && !isSelected {
			return "whether more pages follow"
		}
		delete(wantMeta, "continue") // is followed
		delete(gotMeta, "continue")
		if r.isAny {
			delete(wantMeta, "resourceVersion")
			delete(gotMeta, "resourceVersion")
		}
		if len(wantItems) != len(gotItems) {
			return fmt.Sprintf("the items of the first page: %d, want %d", len(gotItems), len(wantItems))
		}
	}
	if !reflect.DeepEqual(wantContent, gotContent) {
		return "the content"
	}
	return ""
}
