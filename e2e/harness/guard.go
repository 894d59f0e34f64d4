package harness

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

// guard sees to it that a process does not outlive this one: a shell waits at a
// pipe that this process alone holds open, and tells the other to end when the
// pipe breaks. That works on every Unix, for a panic, a timeout and a kill alike.
// release lets the guard go, once the process is gone.
func guard(pid int) (release func(), err error) {
	shell := exec.Command("/bin/sh", "-c", "read -r _; kill -TERM "+strconv.Itoa(pid))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := shell.StdinPipe(); err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("cannot guard process %d: %w", pid, err)
	}
	return func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
	}, nil
}
