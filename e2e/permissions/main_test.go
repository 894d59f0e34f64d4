// Package permissions_test compares what callers can read and do with their permissions in the
// cluster.
package permissions_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
