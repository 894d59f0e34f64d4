package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/internal/version"
)

const versionCommand = "version"

// printVersion runs the command "version".
func printVersion(w io.Writer, args []string) error {
	var output string
	flags := outputFlags(&output)
	flags.Usage = func() {} // the caller prints it
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see kubeconnect help version", flags.Arg(0))
	case output == outputJSON:
		return json.NewEncoder(w).Encode(version.Get())
	}
	_, err := fmt.Fprintln(w, version.Get())
	return err
}

// The values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// outputFlags returns the flags of a command that prints a result.
func outputFlags(output *string) *pflag.FlagSet {
	flags := pflag.NewFlagSet("Output", pflag.ContinueOnError)
	flags.VarP(config.NewChoice(output, outputText, outputJSON), "output", "o", "the format of the output")
	return flags
}

func versionUsage() string {
	return "Print the version of kubeconnect, and the commit that it was built from.\n\n" +
		"Usage:\n  kubeconnect version [flags]\n\nFlags:\n" + outputFlags(new(string)).FlagUsagesWrapped(config.UsageColumns)
}

// buildInfo returns a metric with the version in its labels.
func buildInfo() prometheus.Collector {
	info := version.Get()
	metric := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kubeconnect_build_info",
		Help: "Always 1. The labels have the version of the service, the commit of the build, and the version of Go.",
	}, []string{"version", "revision", "goversion"})
	metric.WithLabelValues(info.Version, info.Revision, info.Go).Set(1)
	return metric
}
