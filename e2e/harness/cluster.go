package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterStart is how long a control plane may take until it can be used.
var clusterStart = Patience(90 * time.Second)

// Cluster is a control plane of its own, and how an administrator reaches it.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Config is the same for client-go, without a rate limit.
	Config *rest.Config
	// Client writes and reads built-in kinds.
	Client *kubernetes.Clientset
	// Dynamic writes and reads every kind.
	Dynamic *dynamic.DynamicClient

	dir     string
	command []string
	process *Process
}

// StartCluster starts a control plane with devcluster's flags and returns when
// all of it can be used. The caller must call Stop.
func StartCluster(args ...string) (*Cluster, error) {
	path, err := Binary("DEVCLUSTER_BIN", "devcluster")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubeconnect-e2e-")
	if err != nil {
		return nil, err
	}
	audit, err := auditFlags(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Kubeconfig: filepath.Join(dir, "kubeconfig"), dir: dir,
		command: slices.Concat([]string{path, "--dir", dir}, audit, args),
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	return c, nil
}

// start starts the control plane and returns when all of it can be used. If that fails,
// nothing is left.
func (c *Cluster) start() (err error) {
	if c.process, err = Start(c.command[0], c.command[1:]...); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		c.Stop()
		return err
	}
	return nil
}

// Offline stops the control plane, calls do with the directory of etcd's data, and starts
// the control plane again, at the same addresses.
func (c *Cluster) Offline(do func(etcd string) error) error {
	if err := c.process.Stop(); err != nil {
		return err
	}
	if err := do(filepath.Join(c.dir, "etcd")); err != nil {
		return err
	}
	return c.start()
}

func (c *Cluster) connect() error {
	ctx, cancel := context.WithTimeout(context.Background(), clusterStart)
	defer cancel()
	_, err := c.process.UntilPrints(ctx, func(line string) bool { return line == "ready" })
	if err != nil {
		return err
	}
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS = -1
	if c.Client, err = kubernetes.NewForConfig(protobuf(c.Config)); err != nil {
		return err
	}
	c.Dynamic, err = dynamic.NewForConfig(c.Config)
	return err
}

// protobuf is the cheap way to speak about built-in kinds.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// Address is where the API server listens, as host and port.
func (c *Cluster) Address() string {
	return strings.TrimPrefix(c.Config.Host, "https://")
}

// PKI is the path of one of the control plane's own certificates and keys, such as
// sa.key, which signs the tokens of service accounts, or ca.key, which signs users.
func (c *Cluster) PKI(file string) string { return filepath.Join(c.dir, "pki", file) }

// Stop ends the control plane and removes all that it kept. A second call does
// nothing.
func (c *Cluster) Stop() {
	if err := c.process.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "the control plane ended with: %v\n%s\n", err, c.process.Output())
	}
	_ = os.RemoveAll(c.dir)
}
