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

// clusterStart bounds the time until a control plane is ready.
var clusterStart = Patience(90 * time.Second)

// Cluster is a control plane of its own, with an administrator's clients.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Config is the administrator's client-go configuration, without a rate limit.
	Config *rest.Config
	// Client writes and reads built-in kinds.
	Client *kubernetes.Clientset
	// Dynamic writes and reads every kind.
	Dynamic *dynamic.DynamicClient

	dir     string
	command []string
	process *Process
}

// StartCluster starts a control plane with devcluster's flags and blocks until all its components
// are ready. The caller must call Stop.
func StartCluster(args ...string) (*Cluster, error) {
	path, err := devcluster()
	if err != nil {
		return nil, err
	}
	return startCluster(path, args...)
}

func devcluster() (string, error) { return Binary("DEVCLUSTER_BIN", "devcluster") }

// startCluster is StartCluster with the devcluster at path.
func startCluster(path string, args ...string) (*Cluster, error) {
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

// start starts the control plane and blocks until all its components are ready. If it fails, it
// leaves no processes and no files behind.
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

// Offline stops the control plane, calls do with etcd's data directory, and starts the control
// plane again at the same addresses.
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

// protobuf returns a copy of config that uses protobuf, the cheaper encoding for built-in kinds.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// Address returns the host and port of the API server.
func (c *Cluster) Address() string {
	return strings.TrimPrefix(c.Config.Host, "https://")
}

// PKI returns the path of a certificate or key of the control plane, such as sa.key, which signs
// the tokens of service accounts, or ca.key, which signs users' certificates.
func (c *Cluster) PKI(file string) string { return filepath.Join(c.dir, "pki", file) }

// Stop ends the control plane and removes its files. A second call does nothing.
func (c *Cluster) Stop() {
	if err := c.process.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "control plane exited: %v\n%s\n", err, c.process.Output())
	}
	_ = os.RemoveAll(c.dir)
}
