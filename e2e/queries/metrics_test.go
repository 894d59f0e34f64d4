package queries_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// watchesOf returns the API server's current number of watches of a resource.
func watchesOf(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, resource string) int {
	t.Helper()
	text, err := controlPlane.Client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\napiserver_longrunning_requests{") {
		t.Fatal("the API server has no metric with the expected name for its watches")
	}
	watches := 0
	for line := range strings.Lines(string(text)) {
		if isWatchOf(line, resource) {
			watches += gauge(t, line)
		}
	}
	return watches
}

func isWatchOf(line, resource string) bool {
	return strings.HasPrefix(line, "apiserver_longrunning_requests{") &&
		strings.Contains(line, `verb="WATCH"`) && strings.Contains(line, `resource="`+resource+`"`)
}

// gauge returns the number at the end of a line.
func gauge(t *testing.T, line string) int {
	t.Helper()
	_, number, _ := strings.Cut(line, "} ")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(value)
}
