package main

import (
	"context"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeconnect/kubeconnect/e2e/cluster/nodes"
)

func nodesFlags(dir layout, count int) flags {
	return flags{"kubeconfig": dir.user(nodesName), "count": strconv.Itoa(count)}
}

func newNodesCommand() *cobra.Command {
	var kubeconfig string
	var count int
	command := &cobra.Command{
		Use:          nodesName,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			return nodes.Run(ctx, config, count)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig for the API server")
	command.Flags().IntVar(&count, "count", 0, "number of nodes to create")
	command.SetContext(context.Background())
	return command
}
