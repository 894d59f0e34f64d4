package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
)

// Bounds of what is typed, as a terminal of Linux has them. More keys are ignored.
const (
	maxLine   = 4096
	maxUnread = 64 << 10
)

// The keys that a terminal handles itself.
const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEnd       = 0x04 // Ctrl-D
	keyBackspace = 0x08
	keyKill      = 0x15 // Ctrl-U
	keyEscape    = 0x1b
	keyDelete    = 0x7f
)

// errInterrupted is the error of a read from a terminal at which Ctrl-C was pressed.
var errInterrupted = errors.New("interrupted")

// terminal is the line discipline of a terminal. Programs read complete lines from it. What is typed is echoed, and
// a line feed of the output is preceded by a carriage return. Its methods are safe for concurrent use.
type terminal struct {
	writing sync.Mutex // serializes the output; locked before mu
	screen  io.Writer

	mu          sync.Mutex // guards the fields below
	changed     *sync.Cond // at mu
	line        []byte     // what is being typed
	complete    []byte     // what can be read
	ends        int        // how often Ctrl-D was pressed, and is to be read
	closed      bool
	interrupted bool   // by Ctrl-C, since the shell last wrote a prompt
	interrupt   func() // called for Ctrl-C
	size        process.Size

	escape int // the position in an escape sequence; owned by type
}

func newTerminal(screen io.Writer) *terminal {
	t := &terminal{screen: screen, interrupt: func() {}}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// start reads the keys until keys is closed, and the sizes until ctx is done.
func (t *terminal) start(ctx context.Context, running *sync.WaitGroup, keys io.Reader, nextSize func(context.Context) (process.Size, bool)) {
	running.Go(func() { t.readKeys(keys) })
	if nextSize == nil {
		return
	}
	running.Go(func() {
		for size, ok := nextSize(ctx); ok; size, ok = nextSize(ctx) {
			t.mu.Lock()
			t.size = size
			t.mu.Unlock()
		}
	})
}

// onInterrupt sets what Ctrl-C does besides ending reads, and returns what it did before. If Ctrl-C was pressed since
// the last prompt, interrupt is called at once.
func (t *terminal) onInterrupt(interrupt func()) (before func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.interrupt = t.interrupt, interrupt
	if t.interrupted {
		interrupt()
	}
	return before
}

// forgetInterrupt lets programs read again.
func (t *terminal) forgetInterrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.interrupted = false
}

func (t *terminal) currentSize() process.Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// Write implements io.Writer.
func (t *terminal) Write(text []byte) (int, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	if err := t.showLocked(text); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (t *terminal) showLocked(text []byte) error {
	_, err := t.screen.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	return err
}

// Read implements io.Reader.
func (t *terminal) Read(into []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case t.interrupted:
			return 0, errInterrupted
		case len(t.complete) > 0:
			count := copy(into, t.complete)
			t.complete = t.complete[count:]
			return count, nil
		case t.ends > 0:
			t.ends--
			return 0, io.EOF
		case t.closed:
			return 0, io.EOF
		}
		t.changed.Wait()
	}
}

func (t *terminal) readKeys(keys io.Reader) {
	buffer := make([]byte, 4096)
	for {
		count, err := keys.Read(buffer)
		for _, key := range buffer[:count] {
			t.pressAndEcho(key)
		}
		if err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.closed = true
			t.changed.Broadcast()
			return
		}
	}
}

// pressAndEcho handles a key. What it is echoed as precedes the output of programs that it wakes.
func (t *terminal) pressAndEcho(key byte) {
	t.writing.Lock()
	defer t.writing.Unlock()
	if echo := t.press(key); echo != "" {
		_ = t.showLocked([]byte(echo))
	}
}

// press handles a key, and returns what is echoed.
func (t *terminal) press(key byte) (echo string) {
	if t.inEscape(key) {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed.Broadcast()
	if key != keyInterrupt && len(t.complete)+t.ends > maxUnread {
		return "\a"
	}
	switch key {
	case keyInterrupt:
		t.line, t.complete, t.ends = nil, nil, 0
		t.interrupted = true
		t.interrupt()
		return "^C\n"
	case keyEnd:
		if len(t.line) == 0 {
			t.ends++
		}
		t.complete, t.line = append(t.complete, t.line...), nil
	case keyBackspace, keyDelete:
		if len(t.line) > 0 {
			_, size := utf8.DecodeLastRune(t.line)
			t.line = t.line[:len(t.line)-size]
			return "\b \b"
		}
	case keyKill:
		erased := utf8.RuneCount(t.line)
		t.line = nil
		return string(bytes.Repeat([]byte("\b \b"), erased))
	case '\r', '\n':
		t.complete, t.line = append(append(t.complete, t.line...), '\n'), nil
		return "\n"
	default:
		if len(t.line) >= maxLine || key < ' ' && key != '\t' {
			return "\a"
		}
		t.line = append(t.line, key)
		return string([]byte{key})
	}
	return ""
}

// inEscape reports whether a key is part of an escape sequence, such as that of an arrow. They are ignored.
func (t *terminal) inEscape(key byte) bool {
	switch {
	case key == keyEscape:
		t.escape = 1
		return true
	case t.escape == 1 && (key == '[' || key == 'O'):
		t.escape = 2
		return true
	case t.escape == 2:
		if key >= '@' && key <= '~' {
			t.escape = 0
		}
		return true
	}
	t.escape = 0
	return false
}
