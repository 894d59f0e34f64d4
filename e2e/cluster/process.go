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
	// startTimeout is for a component to become ready, on a busy machine.
	startTimeout = 2 * time.Minute
	// stopGrace is for a component to end by itself before it is killed.
	stopGrace = 10 * time.Second
	// A component that died is started again after firstBackoff, then twice as
	// long each time up to lastBackoff, until it has lived for a while.
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 5 * time.Second
	livedLong    = 10 * time.Second
	// tailLines is how much of a log goes with the news that a start failed.
	tailLines = 15
)

// process keeps one component alive in a child process: once the component has
// been ready it is started again, with the same arguments, whenever it dies.
type process struct {
	// Set once.
	name  string
	args  []string
	dir   layout
	lock  *os.File
	since time.Time          // when it was first started
	stop  context.CancelFunc // asks the child to end, and keep with it
	ended chan struct{}      // closed by keep, when the child is gone for good

	settled atomic.Bool // whether the component has been ready
	err     error       // how the child ended; owned by keep until ended is closed
}

// startProcess starts a component, and its log anew. The caller must call end.
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

// end stops the child and returns when it is gone.
func (p *process) end() {
	p.stop()
	<-p.ended
}

// untilReady returns when the component is ready, and prints how long that took.
// If it dies first or takes too long, the error shows the end of its log.
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
	return fmt.Errorf("%s did not become ready: %w\nthe end of %s:\n%s", p.name, err, p.dir.log(p.name), p.tail())
}

// keep waits for the child and starts another in its place, until ctx is done.
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
		log.Printf("%s ended (%v): starting it again in %v", p.name, child.ProcessState, backoff)
		if child = p.respawn(ctx, &backoff); child == nil {
			return
		}
	}
}

// respawn starts the child anew after the backoff, and doubles that. It returns
// nil when ctx is done first.
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
		log.Printf("cannot start %s again: %v", p.name, err)
	}
}

// spawn starts the child and writes down its pid. The child
//   - ends when ctx is done: it is asked to, and killed after stopGrace;
//   - ends when this process does, since it then loses its standard input;
//   - is in a process group of its own, so that Ctrl-C in a terminal reaches
//     only this process, which ends the children in order;
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

// askToEnd also wakes a child that was stopped by a signal, or it could not hear.
func askToEnd(child *os.Process) error {
	if err := child.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return child.Signal(syscall.SIGCONT)
}

// tail is the end of the component's log.
func (p *process) tail() string {
	content, err := os.ReadFile(p.dir.log(p.name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
