package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the time until a component is ready, on a busy machine.
	startTimeout = 2 * time.Minute
	// stopGrace bounds the time in which a component must end before it is killed.
	stopGrace = 10 * time.Second
	// The delay before a dead component is restarted is firstBackoff. It doubles with each restart,
	// up to lastBackoff, until the component has run for livedLong.
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 5 * time.Second
	livedLong    = 10 * time.Second
	// tailLines is the number of last log lines in the error of a failed start.
	tailLines = 15
)

// process keeps one component running in a child process: once the component has been ready it is
// restarted with the same arguments whenever it dies.
type process struct {
	// Set once.
	name  string
	args  []string
	dir   layout
	lock  *os.File
	since time.Time          // the time of the first start
	stop  context.CancelFunc // ends the child, and keep
	ended chan struct{}      // closed by keep when the child has ended and is not restarted

	settled atomic.Bool // whether the component has been ready
	err     error       // the child's exit error; owned by keep until ended is closed
}

// startProcess starts a component with an empty log. The caller must call end.
func startProcess(dir layout, lock *os.File, name string, args []string) (*process, error) {
	if err := os.RemoveAll(dir.log(name)); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &process{name: name, args: args, dir: dir, lock: lock, since: time.Now(), stop: stop, ended: make(chan struct{})}
	child, err := p.spawn(ctx)
	if err != nil {
		stop()
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	go p.keep(ctx, child)
	return p, nil
}

// end stops the child and blocks until it has ended.
func (p *process) end() {
	p.stop()
	<-p.ended
}

// untilReady blocks until the component is ready, and prints how long that took. If the component
// dies first or takes too long, the error contains the end of its log.
func (p *process) untilReady(ctx context.Context, ready check) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := p.ask(ctx, ready)
		if err == nil {
			p.settled.Store(true)
			fmt.Printf("%s ready in %.1fs\n", p.name, time.Since(p.since).Seconds())
			return nil
		}
		select {
		case <-p.ended:
			return p.failure(p.err)
		case <-ctx.Done():
			return p.failure(errors.Join(ctx.Err(), err))
		case <-time.After(pollInterval):
		}
	}
}

func (p *process) ask(ctx context.Context, ready check) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return ready(ctx)
}

func (p *process) failure(err error) error {
	return fmt.Errorf("%s did not become ready: %w\nend of %s:\n%s", p.name, err, p.dir.log(p.name), p.tail())
}

// keep waits for the child and restarts it until ctx is done.
func (p *process) keep(ctx context.Context, child *exec.Cmd) {
	defer close(p.ended)
	backoff := firstBackoff
	for {
		started := time.Now()
		p.err = child.Wait()
		if ctx.Err() != nil || !p.settled.Load() {
			return
		}
		if time.Since(started) > livedLong {
			backoff = firstBackoff
		}
		log.Printf("%s exited (%v): restarting it in %v", p.name, child.ProcessState, backoff)
		if child = p.respawn(ctx, &backoff); child == nil {
			return
		}
	}
}

// respawn restarts the child after the backoff, and doubles the backoff. It returns nil when ctx is
// done first.
func (p *process) respawn(ctx context.Context, backoff *time.Duration) *exec.Cmd {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(*backoff):
		}
		*backoff = min(2**backoff, lastBackoff)
		child, err := p.spawn(ctx)
		if err == nil {
			return child
		}
		log.Printf("cannot restart %s: %v", p.name, err)
	}
}

// spawn starts the child and writes its process ID to a file. The child
//   - ends when ctx is done: it receives SIGTERM, and SIGKILL after stopGrace;
//   - ends when this process does, because its standard input is then closed;
//   - has a process group of its own, so that Ctrl-C in a terminal reaches only this process, which
//     ends the children in order;
//   - shares the lock on the directory.
func (p *process) spawn(ctx context.Context) (*exec.Cmd, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	output, err := os.OpenFile(p.dir.log(p.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	child := exec.CommandContext(ctx, executable, append([]string{p.name}, p.args...)...)
	child.Stdout, child.Stderr = output, output
	child.ExtraFiles = []*os.File{p.lock}
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return askToEnd(child.Process) }
	child.WaitDelay = stopGrace
	if _, err := child.StdinPipe(); err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	if err := writeFile(p.dir.pid(p.name), []byte(strconv.Itoa(child.Process.Pid)+"\n")); err != nil {
		return nil, errors.Join(err, child.Process.Kill(), child.Wait())
	}
	return child, nil
}

// askToEnd also resumes a child that was stopped by a signal, because it could not handle SIGTERM
// otherwise.
func askToEnd(child *os.Process) error {
	if err := child.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return child.Signal(syscall.SIGCONT)
}

// tail returns the end of the component's log.
func (p *process) tail() string {
	content, err := os.ReadFile(p.dir.log(p.name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
