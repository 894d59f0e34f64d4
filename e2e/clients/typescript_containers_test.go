package clients_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestTypeScript_ConnectsToContainers runs commands and attaches to a container, over TLS and as a caller with a token, and once in
// plain text: by the package ws, with which it copies files and forwards ports too, and by the WebSocket of the runtime, which can send
// the token in a subprotocol only.
func TestTypeScript_ConnectsToContainers(t *testing.T) {
	t.Parallel()
	served := kit.NewCertificate(t)
	service := kit.StartForCallers(t, "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile)
	plain := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"ws", "runtime"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			pods, log := startContainers(t)
			folder, token := containerFiles(t, pods)
			trusting := []string{"env", "NODE_EXTRA_CA_CERTS=" + served.CertFile}
			command := append(append(trusting, kit.NodeProgram(t, "node", "containers.mjs")...), way)
			caller := startProgram(t, command, service.Address, served.CertFile, token, plain.Address, pods.Namespace, folder)
			caller.wantCommands(pods.Ctx)
			if way == "ws" {
				caller.wantCopies(pods)
			}
			caller.wantAttached(pods, log)
			if way == "ws" {
				caller.wantForwarded(pods.Ctx)
			}
			caller.wantPorts(pods.Ctx)
			if way == "ws" {
				caller.wantRefusedLocally(pods.Ctx)
			}
			caller.wantContainerErrors(pods.Ctx, t, service)
			caller.wantContainersStep(pods.Ctx, "connections", containersStep{}) // none keeps the program from ending
			caller.Ends(pods.Ctx)
		})
	}
}
