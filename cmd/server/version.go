package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/internal/version"
)

const versionCommand = "version"

// printVersion runs the command "version".
func printVersion(w io.Writer, args []string) error {
	flags := pflag.NewFlagSet("kubeconnect "+versionCommand, pflag.ContinueOnError)
	output := flags.StringP("output", "o", "text", "the `format`: text or json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see kubeconnect version --help", flags.Arg(0))
	case *output == "text":
		_, err := fmt.Fprintln(w, version.Get())
		return err
	case *output == "json":
		return json.NewEncoder(w).Encode(version.Get())
	}
	return fmt.Errorf("--output %q: must be \"text\" or \"json\"", *output)
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
