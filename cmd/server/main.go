// Kubeconnect serves the live state of a Kubernetes cluster over Connect, gRPC
// and gRPC-Web. docs/flags.md describes its flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "kubeconnect:", err)
		os.Exit(1)
	}
}

// run runs a command: to serve until the context is done, or to print the version.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == versionCommand {
		return printVersion(os.Stdout, args[1:])
	}
	settings, err := readSettings(args, os.LookupEnv)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(newLogHandler(os.Stderr, settings.logFormat, settings.logLevel)))
	return serve(ctx, settings, shownSettings(args, os.LookupEnv))
}
