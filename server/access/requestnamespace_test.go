package access

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

func TestRequestNamespace_OfANamespaceIsItsName(t *testing.T) {
	namespaces, pods := informerhub.Resource{}, informerhub.Resource{}
	namespaces.Name, pods.Name, pods.Namespaced = "namespaces", "pods", true
	other := namespaces
	other.Group = "example.com"
	for name, test := range map[string]struct {
		resource              informerhub.Resource
		verb, namespace, name string
		want                  string
	}{
		"get of a Namespace":              {namespaces, "get", "", "one", "one"},
		"delete of a Namespace":           {namespaces, "delete", "", "one", "one"},
		"list of Namespaces":              {namespaces, "list", "", "", ""},
		"list of Namespaces by a name":    {namespaces, "list", "", "one", ""},
		"watch of Namespaces by a name":   {namespaces, "watch", "", "one", ""},
		"get of no Namespace by its name": {namespaces, "get", "", "", ""},
		"get of a pod":                    {pods, "get", "of-pod", "one", "of-pod"},
		"get in another group":            {other, "get", "", "one", ""},
	} {
		if got := RequestNamespace(test.resource, test.verb, test.namespace, test.name); got != test.want {
			t.Errorf("%s: it is in the namespace %q, want %q", name, got, test.want)
		}
	}
}
