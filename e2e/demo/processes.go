package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// stopTimeout bounds the time between the signal to end and the end of a process.
const stopTimeout = 20 * time.Second

// group holds the processes started by this command. They are stopped in reverse order.
type group struct {
	mu        sync.Mutex // guards processes
	processes []*process
	firstEnd  chan string
}

type process struct {
	name    string
	command *exec.Cmd
	done    chan struct{}
}

func (g *group) ended() <-chan string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.firstEnd == nil {
		g.firstEnd = make(chan string, 1)
		for _, p := range g.processes {
			go func() {
				<-p.done
				select {
				case g.firstEnd <- p.name:
				default:
				}
			}()
		}
	}
	return g.firstEnd
}

func (g *group) start(command *exec.Cmd) (*process, error) {
	// A process group of its own, so that Ctrl-C does not reach the process directly: this command
	// ends the processes in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w; run `make build` first", command.Path, err)
	}
	p := &process{name: filepath.Base(command.Path), command: command, done: make(chan struct{})}
	g.mu.Lock()
	g.processes = append(g.processes, p)
	g.mu.Unlock()
	return p, nil
}

func (g *group) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.processes) - 1; i >= 0; i-- {
		g.processes[i].stop()
	}
}

func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.done
	}
}

// startCluster starts the control plane, prints its progress, and blocks until it is ready.
func (g *group) startCluster(ctx context.Context, dir string, nodes int) error {
	command := exec.Command("bin/devcluster", "--dir", dir, "--nodes", strconv.Itoa(nodes))
	command.Stderr = os.Stderr
	lines, err := g.follow(command, command.StdoutPipe)
	if err != nil {
		return err
	}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return errors.New("the control plane did not start")
			}
			if line == "ready" {
				return nil
			}
			fmt.Println("  " + line)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var addressPattern = regexp.MustCompile(`msg=serving address=(\S+)`)

// startService starts the service, blocks until it serves, and returns its address.
func (g *group) startService(ctx context.Context, kubeconfig, listen, logFile string) (string, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return "", err
	}
	command := exec.Command("bin/kubeconnect", "--kubeconfig", kubeconfig, "--listen", listen,
		"--auth", "none", "--keep-managed-fields") // the console says who has changed a field
	lines, err := g.follow(command, command.StderrPipe)
	if err != nil {
		return "", err
	}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return "", errors.New("the service did not start")
			}
			_, _ = fmt.Fprintln(log, line)
			found := addressPattern.FindStringSubmatch(line)
			if found == nil {
				fmt.Println("  " + line)
				continue
			}
			go writeLog(log, lines)
			return found[1], nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func writeLog(log *os.File, lines <-chan string) {
	defer func() { _ = log.Close() }()
	for line := range lines {
		_, _ = fmt.Fprintln(log, line)
	}
}

// follow starts a command and returns the lines that it prints to one of its outputs. The channel
// is closed when the command has ended.
func (g *group) follow(command *exec.Cmd, pipe func() (io.ReadCloser, error)) (<-chan string, error) {
	output, err := pipe()
	if err != nil {
		return nil, err
	}
	p, err := g.start(command)
	if err != nil {
		return nil, err
	}
	lines := make(chan string, 1024)
	go func() {
		defer close(p.done)
		defer close(lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			default: // no reader: never block the process
			}
		}
		_ = command.Wait()
	}()
	return lines, nil
}
