package kubejson

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
)

// TestAppend_EqualsGoTypesForSamples uses k8s.io/api's own samples of all
// releases: each kind with every field set.
func TestAppend_EqualsGoTypesForSamples(t *testing.T) {
	for _, golden := range samples.ReadGolden(t) {
		t.Run(golden.Name, func(t *testing.T) {
			checkDirect(t, golden.Kind, golden.Message)
		})
	}
}
