package permissions_test

import (
	"os/exec"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/transport"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// onlyFIPS makes a Go program fail where it uses an algorithm that FIPS 140 does not approve.
const onlyFIPS = "GODEBUG=fips140=only"

// TestFIPS_ApprovedAlgorithmsSuffice reads, watches and writes over TLS with tokens and with client certificates.
func TestFIPS_ApprovedAlgorithmsSuffice(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, served := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewCertificate(t)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(harness.Audited, nil)
	service := harness.StartServiceWith(t, []string{onlyFIPS}, kit.Cluster(t).Kubeconfig,
		"--auth", "cluster", "--write-as", "impersonate", "--tls-cert-file", served.CertFile, "--tls-private-key-file", served.KeyFile,
		"--metrics-listen", "127.0.0.1:0", "--metrics-tls", "--metrics-auth", "cluster")
	user, robot := userOf(namespace), kit.NewAccount(ctx, t, namespace, "robot")
	rule := kit.Rule("configmaps", "get", "list", "watch", "patch")
	kit.Grant(ctx, t, namespace, "jane", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user.CommonName}, rule)
	robot.GrantIn(namespace, "robot", rule)
	janes := clusterAuthority(t).certify(t, user, inAnHour())
	withToken := harness.HTTP2OverTLS(t, served.Parsed)
	withToken.Transport = transport.NewBearerAuthRoundTripper(robot.Token(), withToken.Transport)
	for _, protocol := range byCertificate {
		for name, clients := range map[string]harness.Clients{
			"certificate": janes.calling(t, &tlsService{service, served}, protocol),
			"token":       harness.Dial(withToken, service.Address, protocol),
		} {
			t.Run(name+" by "+protocol.Name, func(t *testing.T) {
				kit.UntilMayPatch(ctx, t, clients, namespace)
				stream := record.Watch(t, clients.Resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
				stream.Synced(ctx)
				changed := kit.Patch(ctx, t, clients.Resources, kit.AuditedPatch(namespace, name+protocol.Name))
				stream.Reaches(ctx, changed.GetObject().GetResourceVersion())
				stream.Close()
			})
		}
	}
}

func TestFIPS_ModuleIsNamedByTheVersion(t *testing.T) {
	t.Parallel()
	program, err := harness.Binary("KUBECONNECT_BIN", "kubeconnect")
	if err != nil {
		t.Skip(err)
	}
	command := exec.CommandContext(t.Context(), program, "version")
	command.Env = []string{onlyFIPS}
	printed, err := command.Output()
	if err != nil || !strings.Contains(string(printed), ", FIPS 140 module ") {
		t.Errorf("printed %q, %v", printed, err)
	}
}
