// Command demo runs everything for `make run`: a control plane with sample objects that change and
// fail, the service, and hints what to look at. With KUBECONFIG set the service uses that cluster
// instead, and the command changes nothing in it.
//
// It ends all processes that it has started when it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kubeconnect/kubeconnect/e2e/demo/simulate"
)

// settings are what the flags set.
type settings struct {
	listen string
	dir    string
	nodes  int
}

func main() {
	var settings settings
	flag.StringVar(&settings.listen, "listen", "127.0.0.1:8080", "the `address` to listen on")
	flag.StringVar(&settings.dir, "dir", ".run", "the `directory` of the demo cluster")
	flag.IntVar(&settings.nodes, "nodes", 12, "number of nodes of the demo cluster")
	flag.Parse()
	// The libraries of the simulated kubelets log each client that disconnects as an error. The demo prints its own.
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, settings, printHints); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run calls started when everything runs, and then blocks until ctx is done or a process exits.
func run(ctx context.Context, settings settings, started func(address, kubeconfig string, isFilled bool)) error {
	if err := os.MkdirAll(settings.dir, 0o755); err != nil {
		return err
	}
	var processes group
	defer processes.stop()
	kubeconfig, isOwn := os.Getenv("KUBECONFIG"), false
	if kubeconfig == "" {
		cluster := filepath.Join(settings.dir, "cluster")
		fmt.Printf("starting a control plane with %d nodes in %s\n", settings.nodes, cluster)
		if err := processes.startCluster(ctx, cluster, settings.nodes); err != nil {
			return err
		}
		kubeconfig, isOwn = filepath.Join(cluster, "kubeconfig"), true
	}
	address, err := processes.startService(ctx, kubeconfig, settings.listen, filepath.Join(settings.dir, "kubeconnect.log"))
	if err != nil {
		return err
	}
	if isOwn {
		stop, err := fill(ctx, address, kubeconfig)
		if err != nil {
			return err
		}
		defer stop()
	}
	started(address, kubeconfig, isOwn)
	return processes.wait(ctx, settings.dir)
}

// fill creates the sample objects and starts the simulation of incidents. The caller calls stop,
// which blocks until the simulation has ended.
func fill(ctx context.Context, address, kubeconfig string) (stop func(), err error) {
	if err := seed(ctx, address); err != nil {
		return nil, fmt.Errorf("creating the sample objects: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	simulation, err := simulate.New(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { simulation.Run(ctx) })
	return func() { cancel(); running.Wait() }, nil
}

// wait blocks until ctx is done or a process exits.
func (g *group) wait(ctx context.Context, dir string) error {
	select {
	case <-ctx.Done():
		fmt.Println("\nending")
		return nil
	case name := <-g.ended():
		return errors.New(name + " exited; see its log in " + dir)
	}
}
