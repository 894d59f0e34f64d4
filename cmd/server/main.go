// Kubeconnect serves the live state of a Kubernetes cluster over Connect, gRPC
// and gRPC-Web. docs/flags.md describes its flags.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kubeconnect:", err)
		os.Exit(1)
	}
}
