package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

const (
	project     = "kubeconnect"
	home        = "https://github.com/kubeconnect/kubeconnect"
	module      = "github.com/kubeconnect/kubeconnect"
	description = "The live state of a Kubernetes cluster, for every language, over Connect, gRPC and gRPC-Web."
)

// source is what a release is built from.
type source struct {
	folder   string // absolute
	version  string // without a v
	revision string // the commit
	time     time.Time
	chart    *chart.Chart
	fips     bool // with the cryptographic module for FIPS 140
}

// withFIPS returns the source of the binaries and the image for FIPS 140.
func (s source) withFIPS() source {
	s.fips = true
	return s
}

// named returns a name of an artifact, which differs for FIPS 140.
func (s source) named(name, separator string) string {
	if s.fips {
		return name + separator + "fips"
	}
	return name
}

// readSource returns the source in a folder. Its version is that of the chart: a test of the
// repository checks that all packages have the same one. The epoch is the time of the commit, in
// seconds since 1970.
func readSource(folder, revision, epoch string) (source, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("SOURCE_DATE_EPOCH must be the time of the commit in seconds: %w", err)
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return source{}, err
	}
	if _, err := os.Stat(filepath.Join(folder, "clients", "web", "dist", "index.html")); err != nil {
		return source{}, errors.New("the console is not built: run `make console`")
	}
	chart, err := loader.Load(filepath.Join(folder, "deploy", project))
	if err != nil {
		return source{}, err
	}
	return source{folder, chart.Metadata.Version, revision, time.Unix(seconds, 0).UTC(), chart, false}, nil
}

// timestamp returns the time of the commit in RFC 3339.
func (s source) timestamp() string { return s.time.Format(time.RFC3339) }
