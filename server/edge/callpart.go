package edge

import (
	"context"
	"sync/atomic"
)

// callPart is one of the watches or counts of a WatchMany. Calls and bytes are counted for its resource.
type callPart struct {
	named    string                 // the resource, as the request names it
	resolved atomic.Pointer[string] // see NoteResource; nil before the resource is resolved
}

type partKey struct{}

// BeginPart begins a part of a call that is about several resources: it is counted as a call about its
// resource, in place of the call. The context is the part's. The goroutine of the call's handler calls
// BeginPart; end can be called by any.
func BeginPart(ctx context.Context, resource string) (context.Context, func()) {
	r, part := recordOf(ctx), &callPart{named: resource}
	r.hasParts = true
	end := func() {
		if r.metrics != nil {
			r.metrics.countResource(r.procedure, nameOf(part.resolved.Load()))
		}
	}
	return context.WithValue(ctx, partKey{}, part), end
}

// SendsPart records that the next bytes of the response are those of the part of the context. One part
// sends at a time.
func SendsPart(ctx context.Context) {
	if part, ok := ctx.Value(partKey{}).(*callPart); ok {
		recordOf(ctx).sending = part
	}
}

// nameOf returns a resource, or an empty string if it is not resolved.
func nameOf(resolved *string) string {
	if resolved == nil {
		return ""
	}
	return *resolved
}
