package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kubeconnect:", err)
		os.Exit(1)
	}
}

const usageHead = `kubeconnect serves the live state of a Kubernetes cluster over Connect, gRPC and
gRPC-Web, and by Kubernetes' own API, on one port, with a console at /.

Usage:
  kubeconnect [flags]            serve, until SIGTERM
  kubeconnect check [flags]      try configuration, cluster, certificates and permissions, and exit
  kubeconnect kubeconfig [flags] print a kubeconfig that points at a service, for kubectl
  kubeconnect version [flags]    print the version
  kubeconnect help [command]     print this help, or that of a command

The cluster is selected by --kubeconfig or --context if given; otherwise, inside a cluster,
it is that cluster, with the service account; otherwise by KUBECONFIG or the default kubeconfig.

Each flag can also be set as an environment variable (--tls-cert-file is
KUBECONNECT_TLS_CERT_FILE) or in the file of --config (tlsCertFile). A flag takes precedence over
a variable, and a variable over the file. A repeatable flag can be given several times, or with
several values separated by commas. docs/flags.md describes each flag.
`

// usage returns the output of --help.
func usage(groups []config.FlagGroup) string {
	var text strings.Builder
	text.WriteString(usageHead)
	for _, group := range groups {
		text.WriteString("\n" + group.Title + ":\n" + group.Flags.FlagUsagesWrapped(config.UsageColumns))
	}
	return text.String()
}

// run runs a command.
func run(ctx context.Context, args []string, out io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case helpCommand:
		return printHelp(args[1:], out)
	case versionCommand:
		return orUsage(printVersion(out, args[1:]), out, versionUsage())
	case kubeconfigCommand:
		return orUsage(runKubeconfig(args[1:], out), out, kubeconfigUsage())
	case checkCommand:
		return orUsage(runCheck(ctx, args[1:], out), out, checkUsage())
	}
	return orUsage(runService(ctx, args), out, usage(new(config.Settings).FlagGroups()))
}

// orUsage prints the usage of a command instead of returning the error that it was requested.
func orUsage(err error, out io.Writer, usage string) error {
	if !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	_, err = io.WriteString(out, usage)
	return err
}

const helpCommand = "help"

// printHelp prints the usage of a command, or of the service.
func printHelp(args []string, out io.Writer) error {
	switch {
	case len(args) == 0:
		return orUsage(pflag.ErrHelp, out, usage(new(config.Settings).FlagGroups()))
	case len(args) == 1 && args[0] == checkCommand:
		return orUsage(pflag.ErrHelp, out, checkUsage())
	case len(args) == 1 && args[0] == kubeconfigCommand:
		return orUsage(pflag.ErrHelp, out, kubeconfigUsage())
	case len(args) == 1 && args[0] == versionCommand:
		return orUsage(pflag.ErrHelp, out, versionUsage())
	}
	return fmt.Errorf("no help about %q; the commands are %s, %s and %s",
		strings.Join(args, " "), checkCommand, kubeconfigCommand, versionCommand)
}

// runService serves until the context is done.
func runService(ctx context.Context, args []string) error {
	read, err := config.Parse(args, os.LookupEnv, nil)
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(read.LogLevel)
	slog.SetDefault(slog.New(logging.NewHandler(os.Stderr, read.LogFormat, level)))
	return serve(ctx, read.Settings, config.ValuesOf(read.Flags), config.NewReloader(args, os.LookupEnv, read, level))
}
