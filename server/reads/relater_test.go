package reads

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/server/joins"
)

// TestLiveJoins_KindsOfOwnersAreBounded joins objects with owners of many kinds that are not served.
func TestLiveJoins_KindsOfOwnersAreBounded(t *testing.T) {
	r, page := &Relater{}, joins.NewPage(nil, nil)
	for i := range 2 * maxKnownKinds {
		kind := schema.GroupKind{Kind: fmt.Sprint("Kind", i)}
		for _, kind := range r.boundKinds([]schema.GroupKind{kind}, len(page.Followed())) {
			page.Follow(kind, nil)
		}
	}
	if known := len(page.Followed()); known != maxKnownKinds || len(r.warnings) != 1 {
		t.Errorf("%d kinds are known, and the warnings are %q", known, r.warnings)
	}
}
