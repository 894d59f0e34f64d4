// Package informer_test compares stores that follow a cluster: client-go's SharedInformer, the
// informer of Kubernetes' Python client, and the Store of kubeconnect. Each of them goes through the
// same scenarios, and docs/informers.md has the results.
package informer_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
