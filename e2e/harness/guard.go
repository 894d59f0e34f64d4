package harness

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

// guard makes a process end when this process ends. A shell reads from a pipe that only this
// process has open, and terminates the guarded process when the pipe breaks. This works on every
// Unix, after a panic, a timeout or a kill. The caller calls release when the guarded process has
// ended.
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
