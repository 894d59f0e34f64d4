package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Component is a process of a control plane. One that dies is started again.
type Component struct {
	name string
	dir  string
}

// APIServer is the cluster's kube-apiserver.
func (c *Cluster) APIServer() Component { return Component{"kube-apiserver", c.dir} }

// Etcd is what the API server keeps its data in.
func (c *Cluster) Etcd() Component { return Component{"etcd", c.dir} }

// Controllers are the cluster's kube-controller-manager.
func (c *Cluster) Controllers() Component { return Component{"kube-controller-manager", c.dir} }

// Scheduler is the cluster's kube-scheduler.
func (c *Cluster) Scheduler() Component { return Component{"kube-scheduler", c.dir} }

// Nodes plays every kubelet of the cluster.
func (c *Cluster) Nodes() Component { return Component{"nodes", c.dir} }

// PID is the number of the process that runs now, or ran last.
func (c Component) PID() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dir, "run", c.name+".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Kill ends the process at once. Another one takes its place.
func (c Component) Kill() error { return c.signal(syscall.SIGKILL) }

// Freeze lets the process stand still, with its connections open, until Thaw.
func (c Component) Freeze() error { return c.signal(syscall.SIGSTOP) }

// Thaw lets the process go on.
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
