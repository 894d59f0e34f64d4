package informerhub

import (
	"context"
	"errors"
	"testing"
)

// TestCache_RejectsSelectionsOfOtherCaches has caches of one resource. The indexes that a selection
// uses are in the cache that it was made by.
func TestCache_RejectsSelectionsOfOtherCaches(t *testing.T) {
	c, other := syncedPods(t, 10, pod(t, "a", 3)), syncedPods(t, 10, pod(t, "a", 3))
	own, foreign := selectFrom(t, c, Query{}), selectFrom(t, other, Query{})
	for name, read := range map[string]func(context.Context, *Selection) error{
		"List": func(ctx context.Context, sel *Selection) error { _, err := c.List(ctx, sel); return err },
		"ListAt": func(ctx context.Context, sel *Selection) error {
			_, err := c.ListAt(ctx, sel, Position{Version: "10"})
			return err
		},
		"Watch": func(ctx context.Context, sel *Selection) error {
			w := c.Watch(sel, WatchOptions{})
			defer w.Close()
			_, err := w.Next(ctx)
			return err
		},
		"Rescope": func(ctx context.Context, sel *Selection) error {
			w := c.Watch(own, WatchOptions{})
			defer w.Close()
			_, err := w.Next(ctx)
			must(t, err)
			w.Rescope(sel)
			_, err = w.Next(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := read(t.Context(), own); err != nil {
				t.Errorf("its own selection: %v", err)
			}
			if err := read(t.Context(), foreign); !errors.Is(err, ErrForeignSelection) {
				t.Errorf("a selection of another cache: %v", err)
			}
		})
	}
}
