package target

import (
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

func TestCheckName_RejectsInvalidNames(t *testing.T) {
	namespaced := informerhub.Resource{Name: "pods", Namespaced: true}
	cluster := informerhub.Resource{Name: "nodes"}
	for name, test := range map[string]struct {
		resource        informerhub.Resource
		namespace, name string
		ok              bool
	}{
		"in a namespace":               {namespaced, "ns", "a", true},
		"without one":                  {cluster, "", "a", true},
		"a name as RBAC has them":      {cluster, "", "system:node", true},
		"no name":                      {namespaced, "ns", "", false},
		"no namespace":                 {namespaced, "", "a", false},
		"a namespace too many":         {cluster, "ns", "a", false},
		"a path as a name":             {namespaced, "ns", "a/b", false},
		"the folder above":             {namespaced, "ns", "..", false},
		"the same folder":              {namespaced, "ns", ".", false},
		"an escaped slash":             {namespaced, "ns", "a%2fb", false},
		"a path as a namespace":        {namespaced, "a/../b", "a", false},
		"the folder above a namespace": {namespaced, "..", "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckName(test.resource, test.namespace, test.name)
			if (err == nil) != test.ok || err != nil && !strings.Contains(callerrors.ConnectError(err).Error(), "invalid_argument") {
				t.Errorf("returned %v", err)
			}
		})
	}
}
