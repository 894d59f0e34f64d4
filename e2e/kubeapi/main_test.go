// Package kubeapi_test uses the service as Kubernetes' own API: by its address alone, with programs that are written for the API server.
package kubeapi_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
