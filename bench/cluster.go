package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// controlPlane is a cluster in which only the API server and etcd run. No other component changes
// its objects or uses CPU time.
type controlPlane struct {
	dir       string
	temporary bool     // stop removes dir
	flags     []string // of devcluster
	process   *harness.Process
	apiServer int // process ID
	address   string
	tls       *tls.Config
	client    *kubernetes.Clientset
}

// clusterStart is the time limit for the start of a control plane.
const clusterStart = 3 * time.Minute

// suspendedComponents are the components that are stopped with SIGSTOP.
var suspendedComponents = []string{"kube-controller-manager", "kube-scheduler", "nodes"}

// startControlPlane starts a control plane with the given environment variables (NAME=VALUE). Its
// data is in dir; if dir is empty, it is in a temporary directory that stop removes. The caller must
// call stop.
func startControlPlane(ctx context.Context, dir string, variables ...string) (*controlPlane, error) {
	c := &controlPlane{dir: dir, temporary: dir == ""}
	if err := c.start(ctx, variables); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *controlPlane) start(ctx context.Context, variables []string) (err error) {
	if c.temporary {
		if c.dir, err = os.MkdirTemp("", "kubeconnect-bench-"); err != nil {
			return err
		}
	}
	c.process, err = harness.StartWith(variables, program("DEVCLUSTER_BIN", "bin/devcluster"), append([]string{"--dir", c.dir}, c.flags...)...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterStart)
	defer cancel()
	if _, err := c.process.UntilPrints(ctx, func(line string) bool { return line == "ready" }); err != nil {
		return err
	}
	return errors.Join(c.suspendComponents(), c.connect(), c.createNamespaces(ctx))
}

func (c *controlPlane) stop() {
	if c.process != nil {
		_ = c.process.Stop()
	}
	if c.temporary {
		_ = os.RemoveAll(c.dir)
	}
}

// program returns the path of a program: the value of the environment variable if it is set, or else
// the default, relative to the top of the checkout.
func program(variable, built string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	return built
}

// suspendComponents stops the components that are not measured, with SIGSTOP. devcluster resumes
// them to end them.
func (c *controlPlane) suspendComponents() error {
	for _, name := range suspendedComponents {
		pid, err := c.pid(name)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// connect creates the client of the API server, for protobuf and without a rate limit.
func (c *controlPlane) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig())
	if err != nil {
		return err
	}
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = asProtobuf, asProtobuf+","+asJSON
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.tls, err = rest.TLSConfigFor(config); err != nil {
		return err
	}
	c.address = strings.TrimPrefix(config.Host, "https://")
	c.apiServer, err = c.pid("kube-apiserver")
	return err
}

func (c *controlPlane) kubeconfig() string { return c.file("kubeconfig") }

func (c *controlPlane) file(path ...string) string {
	return filepath.Join(append([]string{c.dir}, path...)...)
}

// pid returns the process ID of a component.
func (c *controlPlane) pid(component string) (int, error) {
	text, err := os.ReadFile(c.file("run", component+".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// dial opens a connection to the API server, as its administrator.
func (c *controlPlane) dial() (*connection, error) { return dial(c.address, c.tls, "") }

// dialAs opens a connection to the API server as a service account.
func (c *controlPlane) dialAs(a account) (*connection, error) {
	return dial(c.address, &tls.Config{RootCAs: c.tls.RootCAs}, a.token)
}

// version returns the current resource version of the pods of a namespace.
func (c *controlPlane) version(ctx context.Context, namespace string) (string, error) {
	list, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// metric returns the sum of the API server's metric samples that have the given name and labels.
func (c *controlPlane) metric(ctx context.Context, name string, labels ...string) (float64, error) {
	text, err := c.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if value, ok := sample(line, name, labels); ok {
			sum += value
		}
	}
	return sum, nil
}

// sample parses a line of metrics, name{label="value",…} number. It reports whether the line has the
// given name and labels.
func sample(line, name string, labels []string) (value float64, ok bool) {
	rest, found := strings.CutPrefix(line, name+"{")
	if !found {
		return 0, false
	}
	for _, label := range labels {
		if !strings.Contains(rest, label) {
			return 0, false
		}
	}
	_, number, _ := strings.Cut(rest, "} ")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return value, err == nil
}
