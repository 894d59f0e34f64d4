package informerhub

import (
	"container/list"
	"context"
	"fmt"
	"net/http"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxSchemaBytes bounds a schema with all that it refers to.
	maxSchemaBytes = 16 << 20
	// maxBuiltBytes bounds the schemas that are kept as they are sent.
	maxBuiltBytes = 32 << 20
)

// schemaKey names a schema of a document. The document's URL has a hash of its content.
type schemaKey struct{ document, schema string }

// builtSchemas are schemas as they are sent, those that were asked for last, in so many bytes. The
// methods are safe for concurrent use.
type builtSchemas struct {
	building chan struct{} // full while one is built

	mu     sync.Mutex // guards the fields below
	order  list.List  // of builtSchema, the one that was asked for last first
	places map[schemaKey]*list.Element
	bytes  int
}

type builtSchema struct {
	key     schemaKey
	encoded []byte
}

func newBuiltSchemas() *builtSchemas {
	return &builtSchemas{building: make(chan struct{}, 1), places: make(map[schemaKey]*list.Element)}
}

// find returns a schema that has been built; nil if it has not, or not lately.
func (b *builtSchemas) find(key schemaKey) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	place := b.places[key]
	if place == nil {
		return nil
	}
	b.order.MoveToFront(place)
	return place.Value.(builtSchema).encoded
}

// keep adds a schema, and drops those that were not asked for the longest time.
func (b *builtSchemas) keep(key schemaKey, encoded []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[key] = b.order.PushFront(builtSchema{key, encoded})
	for b.bytes += len(encoded); b.bytes > maxBuiltBytes; {
		oldest := b.order.Remove(b.order.Back()).(builtSchema)
		delete(b.places, oldest.key)
		b.bytes -= len(oldest.encoded)
	}
}

// build returns a schema of a document, as the bytes of a google.protobuf.Struct. It is
// built once for all who wait for it, one at a time, in a turn of the processors. One of a document
// without a hash is not kept.
func (b *builtSchemas) build(ctx context.Context, of *document, name string) ([]byte, error) {
	key := schemaKey{of.url, name}
	if known := b.find(key); known != nil {
		return known, nil
	}
	select {
	case b.building <- struct{}{}:
		defer func() { <-b.building }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a schema: %w", context.Cause(ctx))
	}
	if known := b.find(key); known != nil {
		return known, nil // somebody else has built it meanwhile
	}
	encoded, err := of.encode(ctx, name)
	if err == nil && of.isHashed() {
		b.keep(key, encoded)
	}
	return encoded, err
}

// encode returns a schema with all that it refers to, as the bytes of a google.protobuf.Struct.
func (d *document) encode(ctx context.Context, name string) ([]byte, error) {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	whole, err := d.whole(ctx, name)
	if err != nil {
		return nil, err
	}
	message, err := structpb.NewStruct(whole)
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
		Status:  metav1.StatusFailure,
		Code:    http.StatusRequestEntityTooLarge,
		Reason:  metav1.StatusReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("the schema %q takes more than %d MiB with all that it refers to: read it from the API server's /openapi/v3", name, maxSchemaBytes>>20),
	}}
}
