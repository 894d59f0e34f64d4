package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

func TestAccessRequest_HasTheVerbsOfTheAPIServer(t *testing.T) {
	pods := servertest.Deployments
	for name, test := range map[string]struct {
		read  Request
		verbs []string
		name  string
	}{
		"get":                      {ToGet(pods, "y", "x"), []string{"get"}, "x"},
		"list":                     {ToList(pods, "y", "a=b"), []string{"list"}, ""},
		"list of one name":         {ToList(pods, "y", "metadata.name=x,a!=b"), []string{"list"}, "x"},
		"list of all but one":      {ToList(pods, "y", "metadata.name!=x"), []string{"list"}, ""},
		"list that has no meaning": {ToList(pods, "y", "=,metadata.name=x,,a"), []string{"list"}, ""},
		"watch":                    {ToWatch(pods, "y", "", ""), []string{"list", "watch"}, ""},
		"watch of a name":          {ToWatch(pods, "y", "x", ""), []string{"watch"}, "x"},
		"watch of a selected name": {ToWatch(pods, "y", "", "metadata.name=x"), []string{"watch"}, "x"},
		"watch of two names":       {ToWatch(pods, "y", "x", "metadata.name=z"), []string{"watch"}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Equal(test.read.verbs, test.verbs) || test.read.name != test.name {
				t.Errorf("asks for %v of %q", test.read.verbs, test.read.name)
			}
		})
	}
}

func TestCoverage_WarningNamesTwentyNamespacesAtMost(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("n%03d", i))
	}
	_, warnings := Coverage(ToList(servertest.Deployments, "", ""), servertest.Some(many...))
	want := "the answer covers 1000 of the cluster's namespaces: " + strings.Join(many[:20], ", ") +
		" and 980 more; you may not list deployments.apps in the others"
	if !slices.Equal(warnings, []string{want}) {
		t.Errorf("warns %q, want %q", warnings, want)
	}
}

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
