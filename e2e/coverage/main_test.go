package coverage_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// root is the root of the checkout.
const root = "../.."

// waitTimeout bounds how long a test waits before it fails. It is not a claim about speed.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) { kit.Main(m) }
