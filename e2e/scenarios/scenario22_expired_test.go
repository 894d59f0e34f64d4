package scenarios_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestScenario22_StreamEndsWithItsTokenAndResumes lets a caller's token expire while it
// watches.
func TestScenario22_StreamEndsWithItsTokenAndResumes(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			caller := kit.NewAccount(ctx, t, namespace, "reader")
			caller.GrantIn(namespace, "reader", kit.Rule("configmaps", "list", "watch"))
			kit.OutliveCredential(ctx, t, namespace, func(expires time.Time) kit.ResourceClient {
				return kit.CallingWith(t, service, protocol, caller.ExpiringToken(expires)).Resources
			})
		})
	}
}

func TestScenario22_ExpiredTokenIsRejected(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	for when, expired := range map[string]time.Duration{
		"a moment ago, when the cluster would still accept it": time.Second,
		"an hour ago": time.Hour,
	} {
		token := caller.ExpiringToken(time.Now().Add(-expired))
		for _, protocol := range harness.Protocols {
			t.Run(when+" by "+protocol.Name, func(t *testing.T) {
				kit.WantExpired(ctx, t, kit.CallingWith(t, service, protocol, token).Resources, namespace, "the credential has expired: call again with a new one")
			})
		}
	}
}
