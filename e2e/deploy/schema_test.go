package deploy_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// valueSchema is the part of a JSON schema that lists the properties of an object.
type valueSchema struct {
	Properties           map[string]valueSchema `json:"properties"`
	AdditionalProperties json.RawMessage        `json:"additionalProperties"`
	Deprecated           bool                   `json:"deprecated"`
}

// TestSchema_HasTheValuesOfTheChart compares values.yaml with values.schema.json: a value that one
// of them lacks is either rejected or undocumented.
func TestSchema_HasTheValuesOfTheChart(t *testing.T) {
	t.Parallel()
	chart, err := loadChart()
	succeeds(t, err)
	var described valueSchema
	succeeds(t, json.Unmarshal(chart.Schema, &described))
	delete(described.Properties, "global") // Helm's own
	described.wantValues(t, "values", chart.Values)
}

func (s valueSchema) wantValues(t *testing.T, path string, all values) {
	t.Helper()
	if string(s.AdditionalProperties) != "false" {
		t.Errorf("%s: the schema allows unknown names", path)
	}
	for name, value := range all {
		property, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s.%s is missing in the schema", path, name)
		}
		if nested, ok := value.(values); ok && len(nested) > 0 && len(property.Properties) > 0 {
			property.wantValues(t, path+"."+name, nested)
		}
	}
	for name, property := range s.Properties {
		if _, ok := all[name]; !ok && !property.Deprecated && path+"."+name != "values.resources.claims" {
			t.Errorf("%s.%s is missing in values.yaml", path, name)
		}
	}
}

// TestValues_OfOtherNamesAreRejected checks values that look as if the chart had them: the message
// names those that it has.
func TestValues_OfOtherNamesAreRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values values
		says   string
	}{
		"what is served as resources": {
			values{"resources": []any{values{"group": "apps", "resources": []any{"deployments"}}}},
			"resources must be the requests and limits of the container; the list of the resources to serve is the value serve",
		},
		"no resources to serve":              {values{"resources": []any{}}, "the list of the resources to serve is the value serve"},
		"the container's resources as serve": {values{"serve": values{"limits": values{"memory": "1Gi"}}}, "at '/serve': got object, want array"},
		"containerResources":                 {values{"containerResources": values{"limits": values{"memory": "1Gi"}}}, "containerResources is not a value of this chart: use resources"},
		"replicas":                           {values{"replicas": 3}, "replicas is not a value of this chart: use replicaCount"},
		"replicas, for an autoscaler":        {values{"replicas": nil}, "replicas is not a value of this chart: use replicaCount"},
		"an audit policy without a log":      {values{"auditPolicy": values{"rules": []any{values{"level": "Metadata"}}}}, "at '/auditLog': minLength"},
		"an audit policy with contents":      {values{"auditLog": "-", "auditPolicy": values{"rules": []any{values{"level": "Request"}}}}, "at '/auditPolicy/rules/0/level'"},
		"image.pullSecrets":                  {values{"image": values{"pullSecrets": []any{values{"name": "pull"}}}}, "image.pullSecrets is not a value of this chart: use imagePullSecrets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := (release{"r", "n", with(test.values)}).files(); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want %q in it", err, test.says)
			}
		})
	}
}
