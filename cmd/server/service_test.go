package main

import (
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

// TestService_PartsOfTheMemoryLimitFit adds up what callers can use of the memory, and what the process uses
// for itself.
func TestService_PartsOfTheMemoryLimitFit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	const itself = 40 << 20
	for _, limit := range []int64{512 << 20, 1 << 30, 2 << 30, 8 << 30} {
		debug.SetMemoryLimit(limit)
		service, err := newService(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, config.Settings{Auth: "none"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts := privateShare.Bytes()
		for name, use := range service.metrics.QueueUse() {
			if strings.HasSuffix(name, "_bytes") {
				parts += use.Capacity
			}
		}
		service.hub.Close()
		service.traces.stop()
		if parts == 0 || parts+itself > limit {
			t.Errorf("of %d MiB, callers can use %d MiB", limit>>20, parts>>20)
		}
	}
}

// TestService_LogsLimitsThatLimitNothing has names of resources that the cluster serves, and others, in each flag that keeps objects
// out of the caches.
func TestService_LogsLimitsThatLimitNothing(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub, err := informerhub.New(api.Config(), informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	settings := config.Settings{
		Uncached: []string{"po", "podz"}, Select: []string{"Pod=a=b", "widgets.example.com=a=b", "nosuch=a=b"}, SelectFields: []string{"pods.v1=spec.nodeName=n", "none=a=b"},
	}
	want := map[string]string{"--uncached": "podz", "--select": "nosuch", "--select-fields": "none"}

	var lines strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	warnOfUnknown(t.Context(), hub.Resolver(), settings.CacheLimits())
	for flag, name := range want {
		logged := func(line string) bool {
			return strings.Contains(line, "a name of "+flag+" matches no resource, and limits nothing") && strings.Contains(line, name)
		}
		if !slices.ContainsFunc(strings.Split(lines.String(), "\n"), logged) || strings.Count(lines.String(), "level=WARN") != len(want) {
			t.Errorf("without %s %s:\n%s", flag, name, lines.String())
		}
	}
}
