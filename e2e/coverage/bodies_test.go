package coverage_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// rowLabel is the label that selects exactly the objects of a row.
const rowLabel = "row"

// object returns a twin as the recipe of the resource defines it, with more labels in addition to
// its row's.
func (w *walk) object(twin twin, more map[string]any) map[string]any {
	object := twin.substitute(w.parent.Object)
	if object == nil {
		object = map[string]any{}
	}
	object["apiVersion"], object["kind"] = w.parentKind.GroupVersion().String(), w.parentKind.Kind
	if w.parent.Answers {
		return object
	}
	labels := map[string]any{rowLabel: w.row.label}
	maps.Copy(labels, more)
	object["metadata"] = map[string]any{"name": twin.text(w.parent.Name), "labels": labels}
	return object
}

// step is a single update or patch: the values of $(step) and $(number) in a recipe.
type step struct {
	name   string
	number int
}

// change returns the change of the recipe in a step.
func (w *walk) change(twin twin, step step) map[string]any {
	return twin.with("step", step.name).with("number", strconv.Itoa(step.number)).substitute(w.recipe.Change)
}

// merged returns an object with a merge patch applied (RFC 7386).
func merged(object, patch map[string]any) map[string]any {
	result := maps.Clone(object)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range patch {
		inner, ok := value.(map[string]any)
		if !ok {
			result[name] = value
			continue
		}
		before, _ := result[name].(map[string]any)
		result[name] = merged(before, inner)
	}
	return result
}

// operations converts a merge patch of an object to a JSON patch (RFC 6902).
func operations(object, patch map[string]any) []map[string]any {
	after, list := merged(object, patch), []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if name != "metadata" {
			list = append(list, operation("add", "/"+name, after[name]))
			continue
		}
		for part := range patch[name].(map[string]any) {
			list = append(list, operation("add", "/metadata/"+part, after[name].(map[string]any)[part]))
		}
	}
	return list
}

func operation(op, path string, value any) map[string]any {
	return map[string]any{"op": op, "path": path, "value": value}
}

// applied returns a change as an apply configuration.
func (w *walk) applied(twin twin, change map[string]any) map[string]any {
	return merged(change, map[string]any{
		"apiVersion": w.row.kind.GroupVersion().String(), "kind": w.row.kind.Kind,
		"metadata": map[string]any{"name": twin.text(w.parent.Name)},
	})
}

func text(value any) []byte {
	written, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return written
}
