package kubeapi_test

import (
	"compress/gzip"
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
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// readsOfRound is the number of requests that are compared between two changes of the objects.
	readsOfRound = 250
	// comparedReads is the number of requests that are compared in a run, and soakedReads in a run of `make soak`.
	comparedReads, soakedReads = 1_000, 100_000
	// readers is the number of requests that are sent at the same time.
	readers = 8
)

// TestReads_AreThoseOfTheAPIServer sends random reads to the API server and to two replicas. Status, headers and content must be equal,
// but for managedFields, which the service does not keep, and for the version of a read that may be of any version. Objects that no
// read selects change all the time, so that the replicas know the newest version of each resource.
func TestReads_AreThoseOfTheAPIServer(t *testing.T) {
	t.Parallel()
	reads, patience := comparedReads, kit.FaultPatience
	if lasts, soaks := kit.SoakFor(t); soaks {
		reads, patience = soakedReads, kit.FaultPatience+lasts+time.Hour
	}
	ctx := kit.DeadlineAfter(t, patience)
	w := newWorld(ctx, t)
	replicas := []*harness.Service{kit.StartForCallers(t, "--compress", "gzip"), kit.StartForCallers(t, "--compress", "gzip")}
	w.warm(ctx, replicas)
	w.populate(ctx)
	stop := w.keepChanging(ctx)
	defer stop()
	c := &comparison{world: w, replicas: replicas, client: serviceClient(t)}
	rnd := newRandom(t)
	for compared := 0; compared < reads; compared += readsOfRound {
		c.round(ctx, rnd)
		w.write(ctx, rnd)
	}
	t.Logf("of %d responses %d differed; %d were no errors, and of these %d were from a cache", c.sent, c.different, c.succeeded, c.cached)
	if 2*c.cached < c.succeeded {
		t.Error("most responses were not from a cache")
	}
}

// comparison compares the responses of replicas with those of the API server.
type comparison struct {
	// Set once.
	world    *world
	replicas []*harness.Service
	client   *http.Client

	mu                                 sync.Mutex
	sent, succeeded, cached, different int // guarded by mu
}

// round compares a number of random reads.
func (c *comparison) round(ctx context.Context, rnd *rand.Rand) {
	versions := c.world.versions(ctx)
	next := make(chan read)
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			for read := range next {
				c.compare(ctx, read)
			}
		})
	}
	for range readsOfRound {
		next <- c.world.randomRead(rnd, versions)
	}
	close(next)
	reading.Wait()
}

// compare sends a read to the API server and to each replica.
func (c *comparison) compare(ctx context.Context, read read) {
	t := c.world.t
	want := read.send(ctx, t, c.world.api, apiAddress(t))
	for _, replica := range c.replicas {
		got := read.send(ctx, t, c.client, replica.Address)
		difference := read.difference(want, got)
		c.mu.Lock()
		c.sent++
		if got.status == http.StatusOK {
			c.succeeded++
		}
		if got.isCached {
			c.cached++
		}
		if difference != "" {
			c.different++
		}
		shows := difference != "" && c.different <= shownDifferences
		c.mu.Unlock()
		if shows {
			t.Errorf("%s: %s\nAPI server: %s\nservice: %s", read, difference, want, got)
		}
	}
}

// read is a request that changes nothing.
type read struct {
	caller caller
	method string
	path   string
	query  url.Values
	accept string
	// acceptEncoding is the header of this name, and none if it is empty.
	acceptEncoding string
	isAny          bool // of any version
}

func (r read) String() string {
	return fmt.Sprintf("%s %s?%s as %s, accepting %q", r.method, r.path, r.query.Encode(), r.caller.name, r.accept)
}

// accepted are the forms that clients ask for. The service has the first of them itself, and the others are rarer here.
var accepted = []string{
	"", "application/json", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json", "*/*",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
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
	versions := []string{"1", "x", "0"}
	for _, object := range list.Items {
		versions = append(versions, object.ResourceVersion, "", "", "0", list.ResourceVersion)
	}
	return versions
}

func newRandom(t *testing.T) *rand.Rand { return rand.New(rand.NewPCG(kit.NewSeed(t), 0)) }

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

func (w *world) randomRead(rnd *rand.Rand, versions []string) read {
	all, one := w.callers[0], w.callers[1]
	r := read{
		caller: pick(rnd, append(w.callers, all, all, all, all, all, one)...), method: http.MethodGet, query: url.Values{}, accept: pick(rnd, accepted...),
		acceptEncoding: pick(rnd, "", "", "", "gzip", "identity", "gzip;q=0"),
	}
	if rnd.IntN(40) == 0 {
		r.method = pick(rnd, http.MethodHead, http.MethodOptions)
	}
	if rnd.IntN(60) == 0 { // paths that are not clean
		r.path = pick(rnd, "/api/v1/namespaces/"+w.namespaces[0]+"/configmaps//object-1", "/api/v1//configmaps", "/api/v1/namespaces/"+w.namespaces[0]+"/configmaps/", "/api/v1/namespaces/x/../configmaps")
		r.isAny = true
		return r
	}
	group := pick(rnd, "/api/v1", "/api/v1", "/apis/"+w.gadgets.Group+"/v1")
	resource := "gadgets"
	if group == "/api/v1" {
		resource = pick(rnd, "configmaps", "configmaps", "configmaps", "configmaps", "configmaps", "configmaps", "pods", "pods", "pods", "unknowns")
	}
	namespace := pick(rnd, "", "", "", w.namespaces[0], w.namespaces[0], w.namespaces[0], w.namespaces[1], w.namespaces[1], "missing")
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
	match := pick(rnd, "", "", "", "", "", "", "Exact", "Exact", "NotOlderThan", "NotOlderThan", "invalid")
	if version == "" && match != "invalid" { // the API server rejects a match without a version
		match = pick(rnd, "", "", "", "", "", "", "", match)
	}
	if match != "" {
		r.query.Set("resourceVersionMatch", match)
	}
	for name, value := range map[string]string{
		"limit":         pick(rnd, "", "", "", "", "", "", "1", "1", "5", "5", "5", "100", "100", "0", "-1", "x"),
		"fieldSelector": pick(rnd, "", "", "", "", "", "", "", "", "", "", "", "", "metadata.name=object-1", "metadata.namespace!="+w.namespaces[0], "metadata.name!=object-2", "status.phase=Pending", "unknown=1", "a"),
		"pretty":        pick(rnd, "", "", "", "", "", "", "", "", "", "", "", "", "true", "false"),
	} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	w.selectBy(r, pick(rnd, "", "", "", "", "", "", "color=red", "color=red", "color=red", "color in (red,green),!other", "color notin (red)", "color==", "a b"))
	isWhole := slices.Contains([]string{"", "0", "-1"}, r.query.Get("limit"))
	r.isAny = version == "" || version == "0" || match != "Exact" && isWhole || match == "NotOlderThan" ||
		r.query.Get("fieldSelector") == "metadata.name=object-1" // the API server reads the object as it is now
	return r
}

// answer is the response to a read.
type answer struct {
	status      int
	header      http.Header
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
	request, err := http.NewRequestWithContext(ctx, r.method, address+r.path+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.caller.token)
	if r.accept != "" {
		request.Header.Set("Accept", r.accept)
	}
	if r.acceptEncoding != "" {
		request.Header.Set("Accept-Encoding", r.acceptEncoding)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{status: response.StatusCode, header: response.Header, contentType: response.Header.Get("Content-Type"), isCached: response.Header.Get("Kubeconnect-Source") == "cache"}
	content := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		if content, a.err = gzip.NewReader(response.Body); a.err != nil {
			return a
		}
	}
	a.body, a.err = io.ReadAll(content)
	return a
}

// comparedHeaders are the headers that clients act on.
var comparedHeaders = []string{"Content-Type", "Content-Encoding", "Cache-Control", "Vary", "Warning", "Retry-After", "Www-Authenticate", "Allow", "Location"}

// differentHeader returns a header in which two responses differ; empty if there is none.
func differentHeader(want, got answer) string {
	for _, name := range comparedHeaders {
		if !slices.Equal(want.header.Values(name), got.header.Values(name)) {
			return fmt.Sprintf("the header %s: %q, want %q", name, got.header.Values(name), want.header.Values(name))
		}
	}
	return ""
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
	}
	if different := differentHeader(want, got); different != "" {
		return different
	}
	wantContent, gotContent := r.decode(want), r.decode(got)
	wantMeta, _ := wantContent["metadata"].(map[string]any)
	gotMeta, _ := gotContent["metadata"].(map[string]any)
	_, isList := wantContent["items"]
	_, isTable := wantContent["rows"]
	if r.isAny && (isList || isTable) { // not of one object
		delete(wantMeta, "resourceVersion")
		delete(gotMeta, "resourceVersion")
		if isTable && wantMeta["continue"] != nil && gotMeta["continue"] != nil { // it has the version, too
			delete(wantMeta, "continue")
			delete(gotMeta, "continue")
		}
	}
	if isList && want.status == http.StatusOK {
		wantItems, _ := wantContent["items"].([]any)
		if !reflect.DeepEqual(want.items, got.items) {
			return fmt.Sprintf("the items: %d, want %d", len(got.items), len(want.items))
		}
		gotItems, _ := gotContent["items"].([]any)
		hasMore := func(meta map[string]any) bool { return meta["continue"] != nil && meta["continue"] != "" }
		// The API server announces another page also if no object that is left matches the selectors.
		isSelected := r.query.Get("labelSelector") != "" || r.query.Get("fieldSelector") != ""
		if hasMore(gotMeta) && !hasMore(wantMeta) || hasMore(wantMeta) && !hasMore(gotMeta) && !isSelected {
			return "whether more pages follow"
		}
		delete(wantMeta, "continue") // is followed
		delete(gotMeta, "continue")
		if len(wantItems) != len(gotItems) {
			return fmt.Sprintf("the items of the first page: %d, want %d", len(gotItems), len(wantItems))
		}
	}
	if !reflect.DeepEqual(wantContent, gotContent) {
		return "the content"
	}
	return ""
}
