package harness

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// stopGrace bounds the time between SIGTERM and SIGKILL.
var stopGrace = Patience(30 * time.Second)

// outputGrace bounds how long a child that outlives its process may keep the process's output open.
var outputGrace = Patience(10 * time.Second)

// Process is a program that runs next to the tests. Its methods are safe for concurrent use.
type Process struct {
	// Set once.
	name    string
	command *exec.Cmd
	output  *output
	release func()        // ends the guard
	ended   chan struct{} // closed when the process has ended

	err error // the exit error; set before ended is closed
}

// Start starts a program. The caller must call Stop. If this binary ends first, for any reason, the
// program receives SIGTERM.
func Start(path string, args ...string) (*Process, error) { return StartWith(nil, path, args...) }

// StartWith is [Start] with additional environment variables (NAME=VALUE).
func StartWith(environment []string, path string, args ...string) (*Process, error) {
	p := &Process{name: path, command: exec.Command(path, args...), output: newOutput(), ended: make(chan struct{})}
	p.command.Env = append(p.command.Environ(), environment...)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.WaitDelay = outputGrace
	// The process has a process group of its own, so that a Ctrl-C does not reach it in addition to
	// the signal that ends it gracefully.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", path, err)
	}
	release, err := guard(p.command.Process.Pid)
	if err != nil {
		_ = p.command.Process.Kill()
		return nil, err
	}
	p.release = release
	go p.reap()
	return p, nil
}

func (p *Process) reap() {
	p.err = p.command.Wait()
	p.release()
	p.output.close()
	close(p.ended)
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Output returns all that the process has printed to standard output and standard error.
func (p *Process) Output() string { return p.output.String() }

// UntilPrints blocks until the process prints a line for which match is true, and returns the first
// such line.
func (p *Process) UntilPrints(ctx context.Context, match func(line string) bool) (string, error) {
	line, err := p.output.find(ctx, match)
	if err != nil {
		return "", fmt.Errorf("%s: %w; output:\n%s", p.name, err, p.Output())
	}
	return line, nil
}

// Wait blocks until the process has ended. It returns an error if the exit code is not 0 or if ctx
// ends first.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("%s is still running: %w", p.name, context.Cause(ctx))
	}
}

// Freeze suspends the process, with its connections open, until Thaw.
func (p *Process) Freeze() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Thaw resumes the suspended process.
func (p *Process) Thaw() error { return p.command.Process.Signal(syscall.SIGCONT) }

// Stop sends SIGTERM, and SIGKILL if the process has not ended after stopGrace. It returns the exit
// error.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := p.Wait(ctx)
	if ctx.Err() != nil {
		_ = p.command.Process.Kill()
		<-p.ended
	}
	return err
}
