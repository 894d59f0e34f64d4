// Command demo runs everything for `make run`: a control plane with sample objects, the service,
// and some commands to try. With KUBECONFIG set the service uses that cluster instead, and the
// command changes nothing in it.
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
	"syscall"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "the `address` to listen on")
	dir := flag.String("dir", ".run", "the `directory` of the demo cluster")
	nodes := flag.Int("nodes", 12, "number of nodes of the demo cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *dir, *nodes); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, dir string, nodes int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	var processes group
	defer processes.stop()
	if kubeconfig == "" {
		cluster := filepath.Join(dir, "cluster")
		fmt.Printf("starting a control plane with %d nodes in %s\n", nodes, cluster)
		if err := processes.startCluster(ctx, cluster, nodes); err != nil {
			return err
		}
		kubeconfig = filepath.Join(cluster, "kubeconfig")
	}
	address, err := processes.startService(ctx, kubeconfig, listen, filepath.Join(dir, "kubeconnect.log"))
	if err != nil {
		return err
	}
	if os.Getenv("KUBECONFIG") == "" {
		if err := seed(ctx, address); err != nil {
			return fmt.Errorf("creating the sample objects: %w", err)
		}
	}
	printHints(address, kubeconfig)
	select {
	case <-ctx.Done():
		fmt.Println("\nending")
		return nil
	case name := <-processes.ended():
		return errors.New(name + " exited; see its log in " + dir)
	}
}
