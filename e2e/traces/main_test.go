// Package traces_test receives the spans that the service exports, as a collector does.
package traces_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
