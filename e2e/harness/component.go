package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Component is a process of a control plane. devcluster restarts it when it dies.
type Component struct {
	name string
	dir  string
}

// APIServer returns the cluster's kube-apiserver.
func (c *Cluster) APIServer() Component { return Component{"kube-apiserver", c.dir} }

// Etcd returns the etcd that stores the API server's data.
func (c *Cluster) Etcd() Component { return Component{"etcd", c.dir} }

// Controllers returns the cluster's kube-controller-manager.
func (c *Cluster) Controllers() Component { return Component{"kube-controller-manager", c.dir} }

// Scheduler returns the cluster's kube-scheduler.
func (c *Cluster) Scheduler() Component { return Component{"kube-scheduler", c.dir} }

// Nodes returns the process that simulates the kubelets of all nodes.
func (c *Cluster) Nodes() Component { return Component{"nodes", c.dir} }

// PID returns the ID of the running process, or of the last one if none runs.
func (c Component) PID() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "run", c.name+".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Kill ends the process with SIGKILL. devcluster starts a new one.
func (c Component) Kill() error { return c.signal(syscall.SIGKILL) }

// Freeze suspends the process, with its connections open, until Thaw.
func (c Component) Freeze() error { return c.signal(syscall.SIGSTOP) }

// Thaw resumes the suspended process.
func (c Component) Thaw() error { return c.signal(syscall.SIGCONT) }

func (c Component) signal(signal syscall.Signal) error {
	pid, err := c.PID()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("%s, process %d: %w", c.name, pid, err)
	}
	return nil
}
