package kubejson

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/kubejson/samples"
)

// TestTheSamplesOfEveryKindAreWrittenAsTheirGoTypesDo goes through k8s.io/api's own
// samples, of all the releases that it has: each kind, every field set.
func TestTheSamplesOfEveryKindAreWrittenAsTheirGoTypesDo(t *testing.T) {
	for _, golden := range samples.ReadGolden(t) {
		t.Run(golden.Name, func(t *testing.T) {
			checkDirect(t, golden.Kind, golden.Message)
		})
	}
}
