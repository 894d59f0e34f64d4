package kubelet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet/shell"
)

// Bounds of what a container keeps for tests.
const (
	maxInput    = 1 << 20 // of the standard input of clients that attach, in bytes
	maxCommands = 1000
)

// Container is a container that runs: its main process writes a log, and a simulated shell runs commands. It
// implements remote.Container. Its methods are safe for concurrent use.
type Container struct {
	// Host has the files and the environment of the container's processes.
	Host *shell.Host

	mu       sync.Mutex // guards the fields below
	log      http.Handler
	commands [][]string // at most maxCommands
	sessions int
	input    bytes.Buffer // at most maxInput
}

// NewContainer returns a container of a pod, which has no log yet.
func NewContainer(pod string, started time.Time) *Container {
	return &Container{Host: shell.NewHost(pod, started)}
}

// SetLog sets the log of the main process, such as a [Log].
func (c *Container) SetLog(log http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = log
}

func (c *Container) logHandler() http.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log
}

// Commands returns the commands that were executed so far, in order, up to some number.
func (c *Container) Commands() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.commands)
}

// Sessions returns the number of commands and attached clients at present.
func (c *Container) Sessions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions
}

// Input returns what clients that attached have sent to the main process so far.
func (c *Container) Input() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.input.String()
}

func (c *Container) begin(command []string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions++
	if command != nil && len(c.commands) < maxCommands {
		c.commands = append(c.commands, command)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sessions--
	}
}

// Exec implements remote.Container.
func (c *Container) Exec(ctx context.Context, command []string, stdio process.Stdio) error {
	defer c.begin(command)()
	return c.Host.Run(ctx, command, stdio)
}

// Attach implements remote.Container: the client reads what the container writes from now on.
func (c *Container) Attach(ctx context.Context, stdio process.Stdio) error {
	log, ok := c.logHandler().(*Log)
	if !ok {
		return errors.New("the log of the container is not a Log, so nothing can be attached")
	}
	return c.AttachTo(ctx, log, stdio)
}

// AttachTo is Attach to a process with a given log.
func (c *Container) AttachTo(ctx context.Context, log *Log, stdio process.Stdio) error {
	defer c.begin(nil)()
	if stdio.In != nil {
		var reading sync.WaitGroup
		defer reading.Wait()
		defer func() { _ = stdio.In.Close() }()
		reading.Go(func() { _, _ = io.Copy(inputWriter{c}, stdio.In) })
	}
	return log.Follow(ctx, stdio.Out, stdio.Err)
}

// inputWriter records the standard input.
type inputWriter struct{ container *Container }

// Write implements io.Writer.
func (w inputWriter) Write(text []byte) (int, error) {
	w.container.mu.Lock()
	defer w.container.mu.Unlock()
	if w.container.input.Len()+len(text) <= maxInput {
		w.container.input.Write(text)
	}
	return len(text), nil
}
