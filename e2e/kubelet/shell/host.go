package shell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
)

// Host is what the processes of one container share. Its methods are safe for concurrent use.
type Host struct {
	Name  string
	Files *Files

	mu  sync.Mutex // guards env
	env map[string]string
}

// NewHost returns the host of a container that was started at a time.
func NewHost(name string, started time.Time) *Host {
	host := &Host{Name: name, Files: newFiles(started), env: map[string]string{
		"HOME": "/root", "HOSTNAME": name, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}}
	for program := range programs {
		host.Files.nodes["/bin/"+program] = &node{mode: 0o755, modified: started}
	}
	host.Files.nodes["/etc/hostname"] = &node{mode: 0o644, data: []byte(name + "\n"), modified: started}
	return host
}

// Setenv sets an environment variable of later processes.
func (h *Host) Setenv(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.env[name] = value
}

func (h *Host) environment() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.env)
}

// Run runs a command until it ends, ctx is done, or a user of its terminal interrupts it. It returns a
// [process.ExitError] for an exit code that is not zero, and another error if the program does not exist.
func (h *Host) Run(ctx context.Context, command []string, stdio process.Stdio) error {
	program, err := h.programOf(command)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	call := &call{
		ctx: ctx, host: h, args: command, in: strings.NewReader(""), out: io.Discard, err: io.Discard,
		scope: &scope{dir: "/", variables: h.environment(), exported: h.environment(), name: command[0]},
	}
	if stdio.In != nil {
		call.in = stdio.In
		defer func() { _ = stdio.In.Close() }()
		defer context.AfterFunc(ctx, func() { _ = stdio.In.Close() })()
	}
	if stdio.Out != nil {
		call.out = stdio.Out
	}
	if stdio.Err != nil {
		call.err = stdio.Err
	}
	if stdio.TTY {
		call.terminal = newTerminal(call.out)
		call.terminal.onInterrupt(cancel)
		call.terminal.start(ctx, &running, call.in, stdio.NextSize)
		call.in, call.out, call.err = call.terminal, call.terminal, call.terminal
		call.variables["TERM"], call.exported["TERM"] = "xterm", "xterm"
	}
	code := program(call)
	if ctx.Err() != nil && code == 0 {
		code = exitInterrupted
	}
	if code != 0 {
		return process.ExitError(code)
	}
	return nil
}

// programOf returns the program of a command, or the error of a container runtime if there is none.
func (h *Host) programOf(command []string) (program, error) {
	name, failure := "", ""
	if len(command) > 0 {
		name = command[0]
	}
	found, ok := h.program(name, "/")
	switch {
	case ok:
		return found, nil
	case strings.Contains(name, "/"):
		failure = fmt.Sprintf("exec: %q: stat %s: no such file or directory", name, name)
	default:
		failure = fmt.Sprintf("exec: %q: executable file not found in $PATH", name)
	}
	sum := sha256.Sum256([]byte(h.Name + "\n" + strings.Join(command, "\n")))
	return nil, fmt.Errorf("failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: "+
		"unable to start container process: %s: unknown", hex.EncodeToString(sum[:]), failure)
}

// program returns the program with a name or a path.
func (h *Host) program(name, dir string) (program, bool) {
	if strings.Contains(name, "/") {
		full := resolve(dir, name)
		if _, err := h.Files.stat(full); err != nil || path.Dir(full) != "/bin" {
			return nil, false
		}
		name = path.Base(full)
	}
	found, ok := programs[name]
	return found, ok
}

// resolve returns the absolute path of a name in a directory.
func resolve(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// scope is the state of a shell. It is owned by the goroutine that runs it, and copied for parts of a pipeline.
type scope struct {
	dir       string
	variables map[string]string
	exported  map[string]string // the environment of programs
	name      string            // $0
	params    []string          // $1 and the following
	status    int               // $?
	exited    bool              // by the command exit
}

func (s *scope) clone() *scope {
	copied := *s
	copied.variables, copied.exported = maps.Clone(s.variables), maps.Clone(s.exported)
	return &copied
}

// environ returns the environment, sorted.
func (s *scope) environ() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(s.exported)) {
		lines = append(lines, name+"="+s.exported[name])
	}
	return lines
}
