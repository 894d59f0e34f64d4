package harness

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to end before it is killed.
var stopGrace = Patience(30 * time.Second)

// outputGrace is how long the output of a process that has ended may be held open by
// one that it has left behind.
var outputGrace = Patience(10 * time.Second)

// Process is a program that runs beside the tests. Its methods are safe for
// concurrent use.
type Process struct {
	// Set once.
	name    string
	command *exec.Cmd
	output  *output
	release func()        // lets the guard go
	ended   chan struct{} // closed when the process is gone

	err error // how it ended; set before ended is closed
}

// Start starts a program. The caller must call Stop. Should this binary end
// first, in whatever way, the program is told to end too.
func Start(path string, args ...string) (*Process, error) {
	p := &Process{name: path, command: exec.Command(path, args...), output: newOutput(), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.WaitDelay = outputGrace
	// In a process group of its own, so that a Ctrl-C does not reach it besides
	// the signal that ends it in order.
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

// PID is the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Output is all that it has printed, errors included.
func (p *Process) Output() string { return p.output.String() }

// UntilPrints returns the first line of its output for which match is true.
func (p *Process) UntilPrints(ctx context.Context, match func(line string) bool) (string, error) {
	line, err := p.output.find(ctx, match)
	if err != nil {
		return "", fmt.Errorf("%s: %w; it has printed:\n%s", p.name, err, p.Output())
	}
	return line, nil
}

// Wait returns when the process is gone, with an error if its exit code is not 0
// or if ctx ends first.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("%s still runs: %w", p.name, context.Cause(ctx))
	}
}

// Freeze lets the process stand still, with its connections open, until Thaw.
func (p *Process) Freeze() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Thaw lets the process go on.
func (p *Process) Thaw() error { return p.command.Process.Signal(syscall.SIGCONT) }

// Stop asks the process to end, and kills it if it does not. It returns how it
// ended.
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
