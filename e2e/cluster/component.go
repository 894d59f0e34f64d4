package main

import (
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	nodesName             = "nodes"
)

// orphanGrace is how long a component may take to end once its parent is gone.
const orphanGrace = time.Second

// components are the programs in this binary. It runs one of them, and nothing
// else, when its first argument is that one's name.
var components = map[string]func() *cobra.Command{
	etcdName:              newEtcdCommand,
	apiServerName:         apiserver.NewAPIServerCommand,
	controllerManagerName: controllermanager.NewControllerManagerCommand,
	schedulerName:         func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	nodesName:             newNodesCommand,
}

// runComponent runs a component to its end and returns the exit code.
func runComponent(newCommand func() *cobra.Command, args []string) int {
	go endWithParent()
	command := newCommand()
	command.SetArgs(args)
	return cli.Run(command)
}

// endWithParent ends this process when its standard input closes. The parent
// holds the other end and never writes: the operating system closes it however
// the parent dies, on every platform.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(orphanGrace)
	os.Exit(1)
}
