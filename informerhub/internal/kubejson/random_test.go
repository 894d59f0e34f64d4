package kubejson

import (
	"flag"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
)

// thorough multiplies the iterations of random tests.
var thorough = flag.Int("thorough", 1, "how many times as much to try at random")

// objectsOfAKind is the number of random objects of each kind, at each density.
const objectsOfAKind = 3

func TestAppend_EqualsGoTypesForRandomObjects(t *testing.T) {
	all := samples.Kinds()
	if len(all) < 300 {
		t.Errorf("client-go has only %d kinds", len(all))
	}
	for _, kind := range all {
		t.Run(kind.String(), func(t *testing.T) {
			for _, nilChance := range []float64{0.1, 0.4, 0.8} {
				filler := samples.NewFiller(1, nilChance)
				for range objectsOfAKind * *thorough {
					checkDirect(t, kind, samples.Random(t, filler, kind))
				}
			}
		})
	}
}
