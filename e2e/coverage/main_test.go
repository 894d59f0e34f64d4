package coverage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// root is the root of the checkout.
const root = "../.."

// patience bounds how long a test waits before it fails. It is not a claim about speed.
var patience = harness.Patience(2 * time.Minute)

func TestMain(m *testing.M) {
	if os.Getenv("E2E") != "1" {
		fmt.Println("e2e/coverage: skipped, because it needs a control plane: run `make e2e`, or set E2E=1 after `make build`")
		return
	}
	harness.LimitTests()
	goleak.VerifyTestMain(m)
}

// deadline returns a context that ends with the test or after patience.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("test timed out"))
	t.Cleanup(cancel)
	return ctx
}
