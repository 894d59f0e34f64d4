package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Filters returns the filter expressions that this package can evaluate, in order.
func Filters() []string { return slices.Sorted(maps.Keys(filters)) }

// filters maps expressions to their evaluation of a content, written in Go and not in CEL, so that
// it does not repeat a fault of the service's evaluation. An object for which an expression has no
// value, such as one without labels, does not match.
var filters = map[string]func(content map[string]any) bool{
	`object.metadata.labels.color == "red"`: func(content map[string]any) bool {
		return textIn(content, "metadata", "labels", "color") == "red"
	},
	`object.metadata.labels.color in ["red", "green"] && object.metadata.name != "traffic-1"`: func(content map[string]any) bool {
		color := textIn(content, "metadata", "labels", "color")
		return (color == "red" || color == "green") && textIn(content, "metadata", "name") != "traffic-1"
	},
	`!has(object.metadata.labels)`: func(content map[string]any) bool {
		_, ok := memberOf(content, "metadata", "labels")
		return !ok
	},
	`object.data.number.endsWith("0") || object.data.color == "blue"`: func(content map[string]any) bool {
		return strings.HasSuffix(textIn(content, "data", "number"), "0") || textIn(content, "data", "color") == "blue"
	},
	`object.spec.color != "green"`: func(content map[string]any) bool {
		color, ok := memberOf(content, "spec", "color")
		return ok && color != "green"
	},
}

// textIn returns the string at a path; empty if there is none.
func textIn(content map[string]any, path ...string) string {
	value, _ := memberOf(content, path...)
	text, _ := value.(string)
	return text
}

// filterOf returns the filter of an expression; nil if the expression is empty.
func filterOf(expression string) (func(map[string]any) bool, error) {
	if expression == "" {
		return nil, nil
	}
	filter, ok := filters[expression]
	if !ok {
		return nil, fmt.Errorf("unknown filter %q: validate can evaluate only %q", expression, Filters())
	}
	return filter, nil
}
