package clients_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestPythonCommandLine_CountsAgainAtEachChange kills the service while objects change.
func TestPythonCommandLine_CountsAgainAtEachChange(t *testing.T) {
	t.Parallel()
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	c := newCommandLine(t, service)
	maps := kit.ConfigMapsIn(c.ctx, t, kit.Cluster(t), c.namespace)
	selection := []string{"count", "configmaps", "--field-selector", "metadata.name!=kube-root-ca.crt", "--min", "metadata.name"}
	live := c.start(append(selection, "--watch")...)
	live.prints("0", "<none>")
	maps.Create("b", nil)
	live.prints("1", "b")
	maps.Create("a", nil)
	live.prints("2", "a")
	service.Crash()
	maps.Delete("b")
	harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service))
	live.prints("1", "a")
	live.interrupted()
	c.wantLines(c.run(selection...), "COUNT   MIN(NAME)", "1       a")
}
