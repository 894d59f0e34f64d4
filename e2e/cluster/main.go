// Command devcluster runs a real Kubernetes control plane from one binary: etcd, kube-apiserver
// with RBAC, kube-controller-manager, kube-scheduler, and an agent that simulates the nodes, each
// as a child process.
//
// It listens only on loopback addresses and connects to no other host. All its files are in --dir:
//
//	kubeconfig   of the administrator; it exists when all components are ready
//	ports.json   the ports, reused by the next run if they are free
//	pki/         certificates and keys; sign your own users with ca.key
//	etcd/        the data
//	logs/        NAME.log for each component
//	run/         NAME.pid for each component
//
// A component that dies is restarted. No component outlives this process, however it ends.
//
// With the first argument kubectl it is kubectl of the same version instead:
//
//	devcluster kubectl --kubeconfig DIR/kubeconfig get pods
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	if len(os.Args) > 1 {
		if os.Args[1] == kubectlName {
			runKubectl(os.Args[1:])
			return
		}
		if newCommand, ok := components[os.Args[1]]; ok {
			os.Exit(runComponent(newCommand, os.Args[2:]))
		}
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

// run runs the cluster until a signal. A second signal ends the process at once.
func run(args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	if err := checkVersion(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err = runCluster(ctx, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func parseOptions(args []string) (options, error) {
	set := pflag.NewFlagSet("devcluster", pflag.ExitOnError)
	dir := set.String("dir", "", "directory of data, certificates, logs and the kubeconfig; created if missing")
	nodes := set.Int("nodes", 0, "number of nodes to create; pods bound to any node become Running")
	apiServerArgs := set.StringArray("apiserver-arg", nil, "a flag for kube-apiserver, key=value; replaces the default of that name; repeatable")
	if err := set.Parse(args); err != nil {
		return options{}, err
	}
	if *dir == "" || set.NArg() > 0 {
		return options{}, errors.New("--dir is required, and arguments are not allowed: devcluster --dir DIR [--nodes N] [--apiserver-arg KEY=VALUE]")
	}
	if _, err := (flags{}).with(*apiServerArgs); err != nil {
		return options{}, err
	}
	absolute, err := filepath.Abs(*dir)
	return options{dir: layout(absolute), nodes: *nodes, apiServerArgs: *apiServerArgs}, err
}
