package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/coalesce"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxSchemasAge is the maximum age of the index of the documents. The index has their hashes,
	// so a schema is never older than that.
	maxSchemasAge = time.Second
	// maxDocuments bounds the cached documents. The largest of the built-in ones has about a
	// megabyte.
	maxDocuments = 16
	// componentPrefix begins a schema's reference to another schema of its document.
	componentPrefix = "#/components/schemas/"
)

// Schemas reads the OpenAPI v3 documents that the API server publishes, one for each group and
// version. Its methods are safe for concurrent use.
type Schemas struct {
	client    rest.Interface
	index     *coalesce.Requests[map[string]openapi.GroupVersionWithContext] // by path, such as "apis/apps/v1"
	reading   chan struct{}                                                  // full while a document is read, one at a time
	documents *lru.Cache                                                     // of *document, by path
	built     *builtSchemas
}

// document is the API server's OpenAPI document for one group and version.
type document struct {
	url     string // has a hash of the content
	schemas map[string]json.RawMessage
	kinds   map[metav1.GroupVersionKind]string // names of the schemas of the kinds
}

// NewSchemas returns the schemas of the API server that a client sends its requests to. It does not
// connect before the first call. Call CloseWithError when done.
func NewSchemas(client rest.Interface) *Schemas {
	s := &Schemas{
		client: client, reading: make(chan struct{}, 1), documents: lru.New(maxDocuments), built: newBuiltSchemas(),
	}
	s.index = coalesce.New("schemas", s.readIndex)
	return s
}

// CloseWithError makes calls that need a request fail with an error, and waits for the request in
// flight.
func (s *Schemas) CloseWithError(err error) { s.index.CloseWithError(err) }

func (s *Schemas) readIndex() (map[string]openapi.GroupVersionWithContext, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	index, err := openapi.NewClientWithContext(s.client).PathsWithContext(ctx)
	if err != nil {
		return nil, AsUnavailable(context.Background(), s.client, err)
	}
	return index, nil
}

// Get returns the OpenAPI v3 schema of a resource's kind, as the bytes of a
// google.protobuf.Struct, which must not be changed. The schemas that it references are in its
// member "components", so each "$ref" can be resolved within the result. The bytes are encoded once
// for each hash of the API server's document. The error is a [NoSchemaError], an [UnavailableError]
// if the API server could not be reached, or a RequestEntityTooLarge error above 16 MiB.
func (s *Schemas) Get(ctx context.Context, resource object.Resource) ([]byte, error) {
	index, err := s.index.Recent(ctx, maxSchemasAge)
	if err != nil {
		return nil, err
	}
	path := documentPath(resource)
	published, ok := index[path]
	if !ok {
		return nil, &NoSchemaError{resource}
	}
	document, err := s.document(ctx, path, published)
	if err != nil {
		return nil, err
	}
	name, ok := document.kinds[metav1.GroupVersionKind(resource.GroupVersionKind())]
	if !ok {
		return nil, &NoSchemaError{resource}
	}
	return s.built.build(ctx, document, name)
}

// DocumentURLs requests the URLs of the documents. They have a hash of the content, if the API
// server supports that. Concurrent calls share the request.
func (s *Schemas) DocumentURLs(ctx context.Context) (map[schema.GroupVersion]string, error) {
	index, err := s.index.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	urls := make(map[schema.GroupVersion]string)
	for path, published := range index {
		if groupVersion, ok := strings.CutPrefix(path, "apis/"); ok {
			if parsed, err := schema.ParseGroupVersion(groupVersion); err == nil {
				urls[parsed] = published.ServerRelativeURL()
			}
		} else if version, ok := strings.CutPrefix(path, "api/"); ok {
			urls[schema.GroupVersion{Version: version}] = published.ServerRelativeURL()
		}
	}
	return urls, nil
}

func documentPath(resource object.Resource) string {
	if resource.Group == "" {
		return "api/" + resource.Version
	}
	return "apis/" + resource.Group + "/" + resource.Version
}

// document returns the document that is currently published under a path.
func (s *Schemas) document(
	ctx context.Context, path string, published openapi.GroupVersionWithContext,
) (*document, error) {
	if cachedDocument := s.cached(path, published); cachedDocument != nil {
		return cachedDocument, nil
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the API server's schemas: %w", context.Cause(ctx))
	}
	if cachedDocument := s.cached(path, published); cachedDocument != nil {
		return cachedDocument, nil // another caller has read it meanwhile
	}
	read, err := s.read(ctx, published)
	if err != nil {
		return nil, err
	}
	s.documents.Add(path, read)
	return read, nil
}

func (s *Schemas) read(ctx context.Context, published openapi.GroupVersionWithContext) (*document, error) {
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	text, err := published.SchemaWithContext(bounded, runtime.ContentTypeJSON)
	if err != nil {
		return nil, AsUnavailable(ctx, s.client, err)
	}
	read, err := readDocument(text)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's schemas: %w", err)
	}
	read.url = published.ServerRelativeURL()
	return read, nil
}

// cached returns a cached document, if it is still the published one.
func (s *Schemas) cached(path string, published openapi.GroupVersionWithContext) *document {
	found, ok := s.documents.Get(path)
	url := published.ServerRelativeURL()
	if !ok || found.(*document).url != url || !found.(*document).isHashed() {
		return nil
	}
	return found.(*document)
}

// isHashed reports whether the document's URL has a hash of its content.
func (d *document) isHashed() bool { return strings.Contains(d.url, "hash=") }

func readDocument(text []byte) (*document, error) {
	var published struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &published); err != nil {
		return nil, err
	}
	read := &document{schemas: published.Components.Schemas, kinds: make(map[metav1.GroupVersionKind]string)}
	for name, schema := range read.schemas {
		var extension struct {
			Kinds []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(schema, &extension); err != nil {
			return nil, err
		}
		for _, kind := range extension.Kinds {
			read.kinds[kind] = name
		}
	}
	return read, nil
}

// bundle returns a schema with all schemas that it references.
func (d *document) bundle(ctx context.Context, name string) (map[string]any, error) {
	c := collector{document: d, referred: make(map[string]any)}
	root, err := c.parse(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := c.collect(ctx, root); err != nil {
		return nil, err
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the API server's schema %q is not an object", name)
	}
	if len(c.referred) > 0 {
		object["components"] = map[string]any{"schemas": c.referred}
	}
	return object, nil
}

// collector collects the schemas that a schema references, in its document.
type collector struct {
	*document
	name     string         // of the root schema
	referred map[string]any // by name
	bytes    int            // of all parsed schemas
}

// parse parses one schema of the document, within the bound for all of them.
func (c *collector) parse(ctx context.Context, name string) (parsed any, err error) {
	if c.name == "" {
		c.name = name
	}
	if c.bytes += len(c.schemas[name]); c.bytes > maxSchemaBytes {
		return nil, schemaTooLarge(c.name)
	}
	if err := fairqueue.Yield(ctx); err != nil {
		return nil, err
	}
	err = json.Unmarshal(c.schemas[name], &parsed)
	return parsed, err
}

// collect adds the schemas that a part of a schema references, recursively.
func (c *collector) collect(ctx context.Context, part any) error {
	switch part := part.(type) {
	case map[string]any:
		for name, member := range part {
			if reference, ok := member.(string); ok && name == "$ref" {
				if err := c.follow(ctx, reference); err != nil {
					return err
				}
			} else if err := c.collect(ctx, member); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range part {
			if err := c.collect(ctx, element); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow adds a referenced schema, unless it was added before.
func (c *collector) follow(ctx context.Context, reference string) error {
	name, ok := strings.CutPrefix(reference, componentPrefix)
	if _, known := c.schemas[name]; !ok || !known {
		return nil
	}
	if _, added := c.referred[name]; added {
		return nil
	}
	referred, err := c.parse(ctx, name)
	if err != nil {
		return err
	}
	c.referred[name] = referred
	return c.collect(ctx, referred)
}

const (
	// maxSchemaBytes bounds a schema with all schemas that it references.
	maxSchemaBytes = 16 << 20
	// maxBuiltBytes bounds the cached encoded schemas.
	maxBuiltBytes = 32 << 20
)

// schemaKey identifies a schema of a document. The document's URL has a hash of its content.
type schemaKey struct{ document, schema string }

// builtSchemas are the most recently requested schemas, encoded, up to maxBuiltBytes. Its methods
// are safe for concurrent use.
type builtSchemas struct {
	building chan struct{} // full while a schema is built

	mu     sync.Mutex // guards the fields below
	recent *lru.Cache // of encoded schemas, by schemaKey
	bytes  int        // of recent
}

func newBuiltSchemas() *builtSchemas {
	b := &builtSchemas{building: make(chan struct{}, 1)}
	b.recent = lru.NewWithEvictionFunc(0, func(_ lru.Key, encoded any) { b.bytes -= len(encoded.([]byte)) })
	return b
}

// find returns a cached schema; nil if there is none.
func (b *builtSchemas) find(key schemaKey) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, _ := b.recent.Get(key)
	encoded, _ := found.([]byte)
	return encoded
}

// add adds a schema that is not cached, and evicts the least recently requested ones.
func (b *builtSchemas) add(key schemaKey, encoded []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recent.Add(key, encoded)
	for b.bytes += len(encoded); b.bytes > maxBuiltBytes; {
		b.recent.RemoveOldest()
	}
}

// build returns a schema of a document, as the bytes of a google.protobuf.Struct. Schemas are built
// one at a time, in a processor slot, once for all concurrent callers. A schema of a document
// without a hash is not cached.
func (b *builtSchemas) build(ctx context.Context, document *document, name string) ([]byte, error) {
	key := schemaKey{document.url, name}
	if cached := b.find(key); cached != nil {
		return cached, nil
	}
	select {
	case b.building <- struct{}{}:
		defer func() { <-b.building }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a schema: %w", context.Cause(ctx))
	}
	if cached := b.find(key); cached != nil {
		return cached, nil // another caller has built it meanwhile
	}
	encoded, err := document.encode(ctx, name)
	if err == nil && document.isHashed() {
		b.add(key, encoded)
	}
	return encoded, err
}

// encode returns a schema with all schemas that it references, as the bytes of a
// google.protobuf.Struct.
func (d *document) encode(ctx context.Context, name string) ([]byte, error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	bundled, err := d.bundle(ctx, name)
	if err != nil {
		return nil, err
	}
	message, err := structpb.NewStruct(bundled)
	if err != nil {
		return nil, err
	}
	if err := fairqueue.Yield(ctx); err != nil {
		return nil, err
	}
	if proto.Size(message) > maxSchemaBytes {
		return nil, schemaTooLarge(name)
	}
	return proto.Marshal(message)
}

func schemaTooLarge(name string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusRequestEntityTooLarge,
		Reason: metav1.StatusReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("the schema %q takes more than %d MiB with all schemas that it references: "+
			"read it from the API server's /openapi/v3", name, maxSchemaBytes>>20),
	}}
}
