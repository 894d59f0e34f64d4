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

// controlPlane is a cluster of which only the API server and its store do
// anything: nothing else touches what is made in it, or takes the processors.
type controlPlane struct {
	dir       string
	temporary bool // whether dir goes when it ends
	process   *harness.Process
	apiServer int // its process
	address   string
	tls       *tls.Config
	client    *kubernetes.Clientset
}

// clusterStart is how long a control plane may take until it can be used.
const clusterStart = 3 * time.Minute

// bystanders are the components that are put to sleep.
var bystanders = []string{"kube-controller-manager", "kube-scheduler", "nodes"}

// startControlPlane starts one that keeps its data in a directory, or in one that is
// removed at the end if that is empty, with some variables in its environment,
// NAME=VALUE. The caller must call stop.
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
	c.process, err = harness.Start("env", append(variables, program("DEVCLUSTER_BIN", "bin/devcluster"), "--dir", c.dir)...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterStart)
	defer cancel()
	if _, err := c.process.UntilPrints(ctx, func(line string) bool { return line == "ready" }); err != nil {
		return err
	}
	return errors.Join(c.quiet(), c.connect(), c.makeNamespaces(ctx))
}

func (c *controlPlane) stop() {
	if c.process != nil {
		_ = c.process.Stop()
	}
	if c.temporary {
		_ = os.RemoveAll(c.dir)
	}
}

// program is the path of a program, seen from the top of the checkout.
func program(variable, built string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	return built
}

// quiet puts the bystanders to sleep. They are woken to be ended.
func (c *controlPlane) quiet() error {
	for _, name := range bystanders {
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

// connect makes the means to speak to the API server: in protobuf, without a limit.
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

// version is the resource version that the pods of a namespace are at.
func (c *controlPlane) version(ctx context.Context, namespace string) (string, error) {
	list, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// metrics reads the API server's own figures of one name, and adds up those whose
// labels have all that is given.
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

// sample reads a line of metrics: name{label="value",…} number.
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
