package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/internal/version"
)

func TestVersion_IsPrinted(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string // the beginning of the output, or of the error
	}{
		{nil, "kubeconnect " + version.Number + " ("},
		{[]string{"-o", "text"}, "kubeconnect " + version.Number + " ("},
		{[]string{"-o", "json"}, `{"version":"` + version.Number + `",`},
		{[]string{"-o", "yaml"}, `invalid argument "yaml" for "-o, --output" flag: must be text or json`},
		{[]string{"more"}, `unexpected argument "more"`},
	} {
		var printed strings.Builder
		err := printVersion(&printed, test.args)
		got := printed.String()
		if err != nil {
			got += err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: %q, want %q", test.args, got, test.want)
		}
		if strings.HasPrefix(test.want, "{") && !json.Valid([]byte(got)) {
			t.Errorf("%q is not JSON", got)
		}
	}
}

func TestBuildInfo_HasTheVersion(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(buildInfo())
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 1 {
		t.Fatalf("%v %v, want one series", families, err)
	}
	labels := map[string]string{}
	for _, label := range families[0].GetMetric()[0].GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	if labels["version"] != version.Number || labels["goversion"] != runtime.Version() {
		t.Errorf("%v", labels)
	}
}
