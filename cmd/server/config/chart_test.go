package config

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// chartSchema is the part of the schema of the chart's values that bounds numbers and durations.
type chartSchema struct {
	Properties       map[string]chartSchema `json:"properties"`
	Pattern          string                 `json:"pattern"`
	Minimum, Maximum *float64
}

// accepts reports whether the schema accepts a value, which is a number or a duration.
func (s chartSchema) accepts(value string) bool {
	var number float64
	if err := json.Unmarshal([]byte(value), &number); err == nil {
		return (s.Minimum == nil || number >= *s.Minimum) && (s.Maximum == nil || number <= *s.Maximum)
	}
	return regexp.MustCompile(s.Pattern).MatchString(value)
}

// TestChart_BoundsValuesAsTheFlags compares what the schema of the chart accepts with what the flags
// accept, for each flag of a number or a duration that the chart sets: a value that only the schema accepts
// is an installation whose pods do not start.
func TestChart_BoundsValuesAsTheFlags(t *testing.T) {
	const folder = "../../../deploy/kubeconnect/"
	var schema chartSchema
	content, err := os.ReadFile(folder + "values.schema.json")
	succeeds(t, err)
	succeeds(t, json.Unmarshal(content, &schema))
	var templates string
	for _, name := range []string{"deployment.yaml", "configmap.yaml"} {
		content, err := os.ReadFile(folder + "templates/" + name)
		succeeds(t, err)
		templates += string(content)
	}
	durations := []string{
		"-1s", "0s", "500ms", "999ms", "1s", "2s", "9s", "10s", "11s", "59s", "60s", "99s", "100s", "299s", "300s", "301s", "1000s",
		"30s", "1m", "1m30s", "4m59s", "5m", "5m1s", "6m", "10m", "45m", "59m", "60m", "0h", "1h", "1h30m", "24h",
	}
	candidates := map[string][]string{
		"duration": durations, "int": {"-1", "0", "1", "2", "1000000"}, "float64": {"-0.001", "0", "0.5", "1", "1.001"},
	}
	compared := 0
	for _, group := range new(Settings).FlagGroups() {
		group.Flags.VisitAll(func(flag *pflag.Flag) {
			value := regexp.MustCompile(`(?:--` + flag.Name + `=|\b` + fieldName(flag.Name) + `: ){{ (?:int )?\.Values\.([\w.]+) }}`).FindStringSubmatch(templates)
			if value == nil || candidates[flag.Value.Type()] == nil {
				return
			}
			compared++
			property := schema
			for _, part := range strings.Split(value[1], ".") {
				property = property.Properties[part]
			}
			for _, candidate := range candidates[flag.Value.Type()] {
				_, err := Read([]string{fmt.Sprintf("--%s=%s", flag.Name, candidate)}, func(string) (string, bool) { return "", false })
				if accepts := property.accepts(candidate); accepts != (err == nil) {
					t.Errorf("%s: %s: the schema accepts it: %v, and the flag says %v", value[1], candidate, accepts, err)
				}
			}
		})
	}
	if compared < 10 {
		t.Errorf("%d flags are compared", compared)
	}
}
