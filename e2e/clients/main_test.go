// Package clients_test runs programs in other languages and browsers against the service: what a
// user of each client does.
package clients_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
