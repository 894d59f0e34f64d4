package filter

import (
	"container/list"
	"sync"
)

// maxKept is how many bytes of expressions a compiler remembers. Understood, each takes
// some hundred times as much.
const maxKept = 128 << 10

// entryBytes is what an expression counts for beside its own length.
const entryBytes = 256

// Compiler compiles expressions and remembers the last ones, so that those who write the
// same expression share a filter, and what is remembered of it. It is safe for concurrent
// use.
type Compiler struct {
	mu     sync.Mutex // guards the fields below; not held while compiling
	recent list.List  // of *compilation, the last used first
	byText map[string]*list.Element
	bytes  int
}

type compilation struct {
	text   string
	once   sync.Once
	filter *Filter
	err    error
}

// Compile is the function of that name; those who ask for the same at once wait for one
// to compile it. An empty text is no filter, nil.
func (c *Compiler) Compile(text string) (*Filter, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > MaxBytes {
		return Compile(text) // which refuses it
	}
	wanted := c.find(text)
	wanted.once.Do(func() { wanted.filter, wanted.err = Compile(text) })
	return wanted.filter, wanted.err
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
		c.forgetLocked(c.recent.Back())
	}
	return added
}

func (c *Compiler) forgetLocked(oldest *list.Element) {
	text := c.recent.Remove(oldest).(*compilation).text
	delete(c.byText, text)
	c.bytes -= len(text) + entryBytes
}
