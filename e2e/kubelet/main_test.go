package kubelet_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
