// Package scenarios_test has the scenarios of docs/scenarios.md that are tests of their own.
package scenarios_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
