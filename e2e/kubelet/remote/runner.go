package remote

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/exec"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
)

// runner runs the process of one request. It implements the interfaces of package remotecommand.
type runner struct {
	run func(process.Stdio) error
	// input is the goroutine that reads the client's standard input. It ends after its stream was closed, which is
	// after the process has ended.
	input sync.WaitGroup
}

func newRunner(run func(process.Stdio) error) *runner { return &runner{run: run} }

// ExecInContainer implements remotecommand.Executor.
func (r *runner) ExecInContainer(_ context.Context, _, _, _ string, _ []string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return r.runWith(in, out, err, tty, resize)
}

// AttachContainer implements remotecommand.Attacher.
func (r *runner) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return r.runWith(in, out, err, tty, resize)
}

// runWith runs the process and closes its output, as a container runtime does: closing the connection without that
// resets the streams.
func (r *runner) runWith(in io.Reader, out, stderr io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	stdio := process.Stdio{TTY: tty}
	if in != nil {
		stdio.In = r.read(in)
	}
	if out != nil {
		stdio.Out = out
		defer func() { _ = out.Close() }()
	}
	if stderr != nil {
		stdio.Err = stderr
		defer func() { _ = stderr.Close() }()
	}
	if tty && resize != nil {
		stdio.NextSize = func(ctx context.Context) (process.Size, bool) { return nextSize(ctx, resize) }
	}
	err := r.run(stdio)
	if code := process.ExitError(0); errors.As(err, &code) {
		return exec.CodeExitError{Err: err, Code: int(code)}
	}
	return err
}

// read returns a reader of in that can be closed while it is read.
func (r *runner) read(in io.Reader) io.ReadCloser {
	reader, writer := io.Pipe()
	r.input.Go(func() {
		_, err := io.Copy(writer, in)
		_ = writer.CloseWithError(err)
	})
	return reader
}

func nextSize(ctx context.Context, resize <-chan remotecommand.TerminalSize) (process.Size, bool) {
	select {
	case size, ok := <-resize:
		return process.Size{Columns: size.Width, Rows: size.Height}, ok
	case <-ctx.Done():
		return process.Size{}, false
	}
}
