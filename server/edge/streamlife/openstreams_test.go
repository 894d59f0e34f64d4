package streamlife

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func settled(t *testing.T, part *StreamPart, is bool) {
	t.Helper()
	if err := part.Settle(is); err != nil {
		t.Fatalf("settle(%t): %v", is, err)
	}
}

func TestStreams_EndNearTheirMaximumAge(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		drained := false
		streams := NewStreams(45 * time.Minute)
		ctx, stream, end := streams.Begin(WithConnection(t.Context(), func() { drained = true }, func() {}), 1)
		defer end()
		settled(t, &StreamPart{Stream: stream}, true)
		began := time.Now()
		<-ctx.Done()
		if age := time.Since(began); age < 30*time.Minute || age > time.Hour {
			t.Errorf("ends at an age of %s", age)
		}
		if why := context.Cause(ctx); !errors.Is(why, errAged) || !drained {
			t.Errorf("ends because of %v, its connection drained: %t", why, drained)
		}
	})
}

func TestStreams_WithoutMaximumAgeStayOpen(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		ctx, stream, end := NewStreams(0).Begin(t.Context(), 1)
		defer end()
		settled(t, &StreamPart{Stream: stream}, true)
		time.Sleep(1000 * time.Hour)
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
	})
}

func TestStreams_EndOnlyWhereTheyCanBeResumed(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		ctx, stream, end := NewStreams(time.Minute).Begin(t.Context(), 2)
		defer end()
		first, second := &StreamPart{Stream: stream}, &StreamPart{Stream: stream}
		settled(t, first, true)
		time.Sleep(time.Hour)
		synctest.Wait()
		settled(t, first, false)
		settled(t, second, true)
		if ctx.Err() != nil {
			t.Fatalf("ends within a message: %v", context.Cause(ctx))
		}
		settled(t, first, true)
		if why := context.Cause(ctx); !errors.Is(why, errAged) {
			t.Errorf("ends because of %v", why)
		}
		if err := second.Settle(false); !errors.Is(err, errAged) {
			t.Errorf("a watch of a stream that has ended continues: %v", err)
		}
	})
}
