package filter

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"k8s.io/utils/lru"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// maxRecent bounds the memory of the filters that a compiler keeps although nobody uses them.
const maxRecent = 16 << 20

// Compiler compiles expressions. Callers with the same expression share one filter, and its cached
// results, as long as one of them uses the filter. The last filters are kept for the next caller.
// The zero value is ready for use. It is safe for concurrent use.
type Compiler struct {
	mu     sync.Mutex // guards the fields below; not held while compiling
	byText map[string]weak.Pointer[Filter]
	recent *lru.Cache // of filters, by *Filter
	bytes  int        // of recent
}

// Compile is like the function Compile, in a processor slot of the caller in ctx. If the caller leaves,
// it ends after the step that is in progress, which takes some milliseconds at most. For an empty text
// it returns no filter, nil.
func (c *Compiler) Compile(ctx context.Context, text string) (*Filter, error) {
	if text == "" {
		return nil, nil
	}
	if found := c.find(text, nil); found != nil {
		return found, nil
	}
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	compiled, err := compileInSteps(text, func() error { return fairqueue.Yield(ctx) })
	if err != nil {
		return nil, err
	}
	return c.find(text, compiled), nil
}

// find returns the filter of a text that somebody uses or that is recent, and otherwise the given one,
// which is then shared with later callers. Nil if there is none.
func (c *Compiler) find(text string, compiled *Filter) *Filter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.byText[text].Value(); found != nil {
		compiled = found
	}
	if compiled == nil {
		return nil
	}
	if c.byText == nil {
		c.byText = make(map[string]weak.Pointer[Filter])
		c.recent = lru.NewWithEvictionFunc(0, func(evicted lru.Key, _ any) { c.bytes -= evicted.(*Filter).Bytes() })
	}
	if c.byText[text].Value() == nil {
		c.byText[text] = weak.Make(compiled)
		runtime.AddCleanup(compiled, c.forget, text)
	}
	c.useLocked(compiled)
	return compiled
}

// useLocked makes a filter the most recently used one, and drops the last ones that exceed the memory.
func (c *Compiler) useLocked(used *Filter) {
	if _, ok := c.recent.Get(used); ok {
		return
	}
	c.recent.Add(used, nil)
	for c.bytes += used.Bytes(); c.bytes > maxRecent; {
		c.recent.RemoveOldest()
	}
}

// forget removes the text of a filter that has been collected, unless it was compiled again.
func (c *Compiler) forget(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText[text].Value() == nil {
		delete(c.byText, text)
	}
}
