// Package daytwo_test drills what happens to a cluster after its installation: certificates and tokens
// are renewed, a CRD is upgraded, etcd is restored or full, webhooks and aggregated APIs fail, clocks
// differ. docs/drills.md describes what callers see, and what the operator does.
package daytwo_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
