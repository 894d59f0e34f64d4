package object

import "testing"

func TestResource_StringHasKubectlSyntax(t *testing.T) {
	for want, resource := range map[string]Resource{
		"pods.v1":             {Version: "v1", Name: "pods"},
		"deployments.v1.apps": {Group: "apps", Version: "v1", Name: "deployments"},
	} {
		if got := resource.String(); got != want {
			t.Errorf("named %s, want %s", got, want)
		}
	}
}
