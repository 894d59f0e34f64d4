package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

// disk is a file whose writes wait, or fail, as a test sets it.
type disk struct {
	mayWrite chan struct{} // closed when writes need not wait; nil if they never do
	isClosed bool          // by the goroutine that writes

	mu      sync.Mutex // guards the fields below
	fits    int        // the bytes that fit, until a write has failed; -1 for all
	content bytes.Buffer
}

var errFull = errors.New("no space left on device")

// Write implements io.Writer.
func (d *disk) Write(lines []byte) (int, error) {
	if d.mayWrite != nil {
		<-d.mayWrite
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fits >= 0 && d.fits < len(lines) {
		lines = lines[:d.fits]
		d.fits = -1
		d.content.Write(lines)
		return len(lines), errFull
	}
	return d.content.Write(lines)
}

// Close implements io.Closer.
func (d *disk) Close() error {
	d.isClosed = true
	return nil
}

func (d *disk) lines() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Count(d.content.Bytes(), newline)
}

// writingTo returns an output that writes to a disk.
func writingTo(d *disk) *Output {
	o := NewOutput(Stdout)
	o.file = d
	go o.run()
	return o
}

// gather blocks, in fake time, until the lines that were added are being written.
func gather() {
	time.Sleep(gatherTime)
	synctest.Wait()
}

// line is a line of which a queue has room for eight.
var line = bytes.Repeat([]byte("a"), maxQueued/8-2)

func wantCounts(t *testing.T, o *Output, written, lost int) {
	t.Helper()
	metricstest.WantLines(t, o, "kubeconnect_audit_written_events_total", fmt.Sprint(" ", written))
	metricstest.WantLines(t, o, "kubeconnect_audit_lost_events_total", fmt.Sprint(" ", lost))
}

// TestOutput_CallsWaitForRoomForAMoment fills the queue while the first line is being written.
func TestOutput_CallsWaitForRoomForAMoment(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		d := &disk{mayWrite: make(chan struct{}), fits: -1}
		o := writingTo(d)
		o.Add(line, true)
		gather() // the first line is being written
		for range 8 {
			o.Add(line, true)
		}
		began := time.Now()
		o.Add(line, true)
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("the call has waited for %v, want %v", waited, maxWait)
		}
		o.Add(line, true)
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("the call after it has waited until %v", waited)
		}
		wantCounts(t, o, 0, 2)
		close(d.mayWrite)
		gather()
		wantCounts(t, o, 9, 2)
		o.Add(line, true)
		o.Close()
		wantCounts(t, o, 10, 2)
		if got := d.lines(); got != 10 || !d.isClosed {
			t.Errorf("%d lines are written, and the file is closed: %v", got, d.isClosed)
		}
	})
}

// TestOutput_CallsThatWaitAreWrittenWhenThereIsRoom has a disk that stands still for less than a call waits.
func TestOutput_CallsThatWaitAreWrittenWhenThereIsRoom(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		d := &disk{mayWrite: make(chan struct{}), fits: -1}
		o := writingTo(d)
		time.AfterFunc(maxWait/2, func() { close(d.mayWrite) })
		for range 12 {
			o.Add(line, true)
		}
		o.Close()
		wantCounts(t, o, 12, 0)
	})
}

func TestOutput_UnknownCallersLeaveRoomAndDoNotWait(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		d := &disk{mayWrite: make(chan struct{}), fits: -1}
		o := writingTo(d)
		o.Add(line, true)
		gather()
		began := time.Now()
		for range 100 {
			o.Add(line, false)
		}
		for range 4 {
			o.Add(line, true)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the calls have waited for %v", waited)
		}
		close(d.mayWrite)
		o.Close()
		wantCounts(t, o, 9, 96)
	})
}

// TestOutput_RepeatsWritesThatFail has a disk that is full in the middle of a line.
func TestOutput_RepeatsWritesThatFail(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		d := &disk{fits: 5}
		o := writingTo(d)
		o.Add([]byte("first"), true)
		o.Add([]byte("second"), true)
		gather()
		time.Sleep(retryInterval)
		o.Add([]byte("third"), true)
		o.Close()
		if got := d.content.String(); got != "first\nsecond\nthird\n" {
			t.Errorf("the file has %q", got)
		}
		wantCounts(t, o, 3, 0)
		metricstest.WantLines(t, o, "kubeconnect_audit_write_failures_total", " 1")
	})
}

// brokenDisk is a file whose writes always fail.
type brokenDisk struct{}

// Write implements io.Writer.
func (brokenDisk) Write([]byte) (int, error) { return 0, errFull }

// Close implements io.Closer.
func (brokenDisk) Close() error { return nil }

func TestOutput_CloseDoesNotWaitForABrokenDisk(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		o := NewOutput(Stdout)
		o.file = brokenDisk{}
		go o.run()
		o.Add(line, true)
		gather()
		o.Add(line, true)
		o.Close()
		o.Add(line, true) // of a call that is late
		wantCounts(t, o, 0, 3)
	})
}

func TestOutput_CloseDoesNotWaitForADiskThatStandsStill(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		d := &disk{mayWrite: make(chan struct{}), fits: -1}
		o := writingTo(d)
		o.Add(line, true)
		gather()
		began := time.Now()
		o.Close()
		if waited := time.Since(began); waited != closeTimeout {
			t.Errorf("Close has waited for %v, want %v", waited, closeTimeout)
		}
		close(d.mayWrite)
	})
}

// TestOutput_FollowsFilesThatAreRotated moves the file away, and removes it.
func TestOutput_FollowsFilesThatAreRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := NewOutput(path)
	if err := o.open(); err != nil {
		t.Fatal(err)
	}
	add := func(line string) {
		o.Add([]byte(line), true)
		o.flush()
	}
	add("first")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add("second")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	add("third")
	_ = o.file.Close()
	for name, want := range map[string]string{path + ".1": "before\nfirst\n", path: "third\n"} {
		if got, err := os.ReadFile(name); string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestOutput_OpenFailsWithoutTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "audit.log")
	if err := NewOutput(path).Open(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("returned %v", err)
	}
}
