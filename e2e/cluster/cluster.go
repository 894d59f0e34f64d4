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

// options are the values of the command line.
type options struct {
	dir           layout
	nodes         int
	apiServerArgs []string
}

// cluster is a running control plane. Its methods are not safe for concurrent use.
type cluster struct {
	// Set once.
	options
	lock   *os.File
	ports  ports
	client kubernetes.Interface // of the administrator

	processes []*process // in the order they were started
}

// runCluster runs a control plane until ctx is done. It prints a line for each step and "ready"
// when all components are ready. All components have ended when it returns.
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

// prepare creates all files that the components need, and removes the kubeconfig of an earlier run,
// because its existence means that all components are ready.
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

// administrator returns a client with all permissions.
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

// start starts the components, each when those that it needs are ready, and then writes the
// administrator's kubeconfig, whose existence means that all are ready.
func (c *cluster) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.startEtcd, c.startAPIServer, c.startControllers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := writeKubeconfig(c.dir, c.ports.APIServer, adminUser, c.dir.kubeconfig()); err != nil {
		return err
	}
	fmt.Println("kubeconfig:", c.dir.kubeconfig())
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

// startControllers starts the clients of the API server concurrently.
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

// launchClient starts a component that connects to the API server with a kubeconfig.
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

// end stops the components in reverse order, so that none loses a component that it depends on.
func (c *cluster) end() {
	for _, p := range slices.Backward(c.processes) {
		p.end()
	}
	c.lock.Close()
}
