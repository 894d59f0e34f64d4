package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
