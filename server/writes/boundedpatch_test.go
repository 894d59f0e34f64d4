package writes

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// TestPatch_BoundsTheValuesOfData has patches in which a value takes two bytes.
func TestPatch_BoundsTheValuesOfData(t *testing.T) {
	values := func(count int) *kubeconnectv1.PatchRequest_Data {
		return &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"a":[1` + strings.Repeat(",1", count) + "]}")}
	}
	for name, test := range map[string]struct {
		count int
		want  bool
	}{"as many as a manifest": {100_000, true}, "more": {1_000_000, false}} {
		_, err := parsePatch(&kubeconnectv1.PatchRequest{Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, Body: values(test.count)})
		if (err == nil) != test.want || err != nil && !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
