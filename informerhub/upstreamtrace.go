package informerhub

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"go.opentelemetry.io/otel/trace"

	"github.com/kubeconnect/kubeconnect/internal/tracing"
)

// beginSpan begins the span of a list or a watch. For a shared cache it begins a trace, because the
// cache belongs to no caller. For a private one it is below the span of the caller's stream.
func (u *upstream) beginSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	var span trace.Span
	if u.tracer != nil && u.memory == nil {
		ctx, span = u.tracer.Start(ctx, name, trace.WithNewRoot())
	} else {
		ctx, span = tracing.Begin(ctx, name)
	}
	tracing.SetResource(span, u.cache.resource)
	return ctx, span
}

// endWithSnapshot returns a function like passes, which can be nil, that also ends the span of a watch
// when the snapshot that the watch begins with is complete.
func endWithSnapshot(span trace.Span, passes func(watch.Event) bool) func(watch.Event) bool {
	if !span.IsRecording() {
		return passes
	}
	return func(event watch.Event) bool {
		if event.Type == watch.Bookmark && endsSnapshot(event) {
			span.End()
		}
		return passes == nil || passes(event)
	}
}

func endsSnapshot(event watch.Event) bool {
	bookmark, err := meta.Accessor(event.Object)
	return err == nil && bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] != ""
}
