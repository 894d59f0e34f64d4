package discovery

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

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
