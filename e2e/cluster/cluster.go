package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// options are what the command line says.
type options struct {
	dir           layout
	nodes         int
	apiServerArgs []string
}

// cluster is a control plane that runs. Its methods are not safe to call
// concurrently.
type cluster struct {
	// Set once.
	options
	lock   *os.File
	ports  ports
	client kubernetes.Interface // as the administrator

	processes []*process // in the order they were started
}

// runCluster runs a control plane until ctx is done. It prints a line for each
// step and "ready" when all can be used. When it returns no component is left.
func runCluster(ctx context.Context, o options) error {
	c, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	<-ctx.Done()
	return nil
}

// prepare makes everything on disk that the components need, and removes the
// kubeconfig of an earlier run: one that is there means that all is ready.
func prepare(ctx context.Context, o options) (*cluster, error) {
	if err := o.dir.make(); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(ctx, o.dir)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(o.dir.kubeconfig()); err != nil {
		return nil, err
	}
	if err := makeCertificates(o.dir); err != nil {
		return nil, err
	}
	chosen, err := choosePorts(o.dir.ports())
	if err != nil {
		return nil, err
	}
	client, err := administrator(o.dir, chosen)
	return &cluster{options: o, lock: lock, ports: chosen, client: client}, err
}

// administrator is a client that may do everything.
func administrator(dir layout, p ports) (kubernetes.Interface, error) {
	kubeconfig, err := kubeconfigFor(dir, p.APIServer, adminUser)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit
	return kubernetes.NewForConfig(rest.AddUserAgent(config, "devcluster"))
}

// start starts the components, each when those that it needs are ready, and
// leaves the administrator's kubeconfig as the sign that all are.
func (c *cluster) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.startEtcd, c.startAPIServer, c.startControllers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := writeKubeconfig(c.dir, c.ports.APIServer, adminUser, c.dir.kubeconfig()); err != nil {
		return err
	}
	fmt.Println("kubeconfig is", c.dir.kubeconfig())
	return nil
}

func (c *cluster) startEtcd(ctx context.Context) error {
	ready, err := etcdReady(c.dir, c.ports)
	if err != nil {
		return err
	}
	etcd, err := c.launch(etcdName, etcdFlags(c.dir, c.ports).args())
	if err != nil {
		return err
	}
	return etcd.untilReady(ctx, ready)
}

func (c *cluster) startAPIServer(ctx context.Context) error {
	args, err := apiServerFlags(c.dir, c.ports).with(c.apiServerArgs)
	if err != nil {
		return err
	}
	server, err := c.launch(apiServerName, args)
	if err != nil {
		return err
	}
	return server.untilReady(ctx, apiServerReady(c.client))
}

// startControllers starts all that are clients of the API server side by side.
func (c *cluster) startControllers(ctx context.Context) error {
	client, err := clientWith(c.dir, clusterCA, adminUser)
	if err != nil {
		return err
	}
	manager, err := c.launchClient(controllerManagerName, controllerManagerFlags(c.dir, c.ports))
	if err != nil {
		return err
	}
	scheduler, err := c.launchClient(schedulerName, schedulerFlags(c.dir, c.ports))
	if err != nil {
		return err
	}
	nodes, err := c.launchClient(nodesName, nodesFlags(c.dir, c.nodes))
	if err != nil {
		return err
	}
	healthy := answersOK(client, httpsURL(c.ports.ControllerManager)+"/healthz")
	if err := manager.untilReady(ctx, controllerManagerReady(healthy, c.client)); err != nil {
		return err
	}
	if err := scheduler.untilReady(ctx, answersOK(client, httpsURL(c.ports.Scheduler)+"/readyz")); err != nil {
		return err
	}
	return nodes.untilReady(ctx, nodesReady(c.client, c.nodes))
}

// launchClient starts a component that finds the API server by a kubeconfig.
func (c *cluster) launchClient(name string, f flags) (*process, error) {
	if err := writeKubeconfig(c.dir, c.ports.APIServer, name, c.dir.user(name)); err != nil {
		return nil, err
	}
	return c.launch(name, f.args())
}

func (c *cluster) launch(name string, args []string) (*process, error) {
	p, err := startProcess(c.dir, c.lock, name, args)
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}

// end stops the components, last first: none loses what it works with.
func (c *cluster) end() {
	for _, p := range slices.Backward(c.processes) {
		p.end()
	}
	c.lock.Close()
}
