package filter

import (
	"container/list"
	"sync"
)

// maxKept bounds the bytes of expressions that a compiler caches. A compiled expression takes a few
// hundred times as much memory.
const maxKept = 128 << 10

// entryBytes is the size that an expression counts for in addition to its length.
const entryBytes = 256

// Compiler compiles expressions and caches the last ones, so that callers with the same expression
// share a filter and its cached results. It is safe for concurrent use.
type Compiler struct {
	mu     sync.Mutex // guards the fields below; not held while compiling
	recent list.List  // of *compilation, the most recently used first
	byText map[string]*list.Element
	bytes  int
}

type compilation struct {
	text   string
	once   sync.Once
	filter *Filter
	err    error
}

// Compile is like the function Compile. Concurrent callers with the same expression share one
// compilation. For an empty text it returns no filter, nil.
func (c *Compiler) Compile(text string) (*Filter, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > MaxBytes {
		return Compile(text) // returns an error
	}
	entry := c.find(text)
	entry.once.Do(func() { entry.filter, entry.err = Compile(text) })
	return entry.filter, entry.err
}

func (c *Compiler) find(text string) *compilation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.byText[text]; ok {
		c.recent.MoveToFront(found)
		return found.Value.(*compilation)
	}
	if c.byText == nil {
		c.byText = make(map[string]*list.Element)
	}
	added := &compilation{text: text}
	c.byText[text] = c.recent.PushFront(added)
	c.bytes += len(text) + entryBytes
	for c.bytes > maxKept {
		c.evictLocked(c.recent.Back())
	}
	return added
}

func (c *Compiler) evictLocked(oldest *list.Element) {
	text := c.recent.Remove(oldest).(*compilation).text
	delete(c.byText, text)
	c.bytes -= len(text) + entryBytes
}
