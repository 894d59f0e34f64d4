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

// orphanGrace bounds the time in which a component must end after its parent has ended.
const orphanGrace = time.Second

// components maps names to the programs in this binary. The binary runs one of them, and nothing
// else, if its first argument is the program's name.
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

// endWithParent ends this process when its standard input is closed. The parent has the other end
// open and never writes: the operating system closes it however the parent ends, on every platform.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(orphanGrace)
	os.Exit(1)
}
