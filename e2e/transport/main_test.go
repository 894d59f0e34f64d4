// Package transport_test uses the protocols of the service, TLS, CORS, health checks and the tools
// curl and grpcurl.
package transport_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
