package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProcess_RestartsAfterItWasKilled(t *testing.T) {
	p, dir := start(t, obedient)
	if err := p.untilReady(t.Context(), running(dir, 0)); err != nil {
		t.Fatal(err)
	}
	killed := pidOf(t, dir)
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.untilReady(t.Context(), running(dir, killed)); err != nil {
		t.Fatal(err)
	}
}

func TestProcess_FailedStartReportsTheLog(t *testing.T) {
	p, _ := start(t, failing)
	err := p.untilReady(t.Context(), func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "the last line") {
		t.Errorf("got %v, want an error with the end of the log", err)
	}
	if !strings.Contains(fmt.Sprint(err), "exit status 3") {
		t.Errorf("got %v, want an error with the exit status", err)
	}
}

func TestProcess_EndsWhenStoppedBySignal(t *testing.T) {
	p, dir := start(t, obedient)
	if err := p.untilReady(t.Context(), running(dir, 0)); err != nil {
		t.Fatal(err)
	}
	pid := pidOf(t, dir)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.end()
	if took := time.Since(began); took >= stopGrace {
		t.Errorf("took %v: the process was killed instead of terminated", took)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still running: %v", pid, err)
	}
}

func start(t *testing.T, name string) (*process, layout) {
	t.Helper()
	dir := newDir(t)
	lock, err := lockDirectory(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	p, err := startProcess(dir, lock, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	return p, dir
}

// running checks that the component's process ID is known, and is not that of the former process.
func running(dir layout, former int) check {
	return func(context.Context) error {
		pid, err := readPid(dir)
		if err != nil {
			return err
		}
		if pid == former {
			return fmt.Errorf("still process %d", pid)
		}
		return nil
	}
}

func pidOf(t *testing.T, dir layout) int {
	t.Helper()
	pid, err := readPid(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func readPid(dir layout) (pid int, err error) {
	content, err := os.ReadFile(dir.pid(obedient))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(content), &pid)
	return pid, err
}
