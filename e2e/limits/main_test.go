// Package limits_test attacks the service and uses it to excess, and checks that other callers are
// not harmed.
package limits_test

import (
	"os"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) {
	if os.Getenv(attackVariable) != "" {
		os.Exit(m.Run()) // an attacker, which abandons its calls
	}
	kit.Main(m)
}
