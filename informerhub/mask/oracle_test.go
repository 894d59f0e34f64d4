package mask

import (
	"encoding/json"
	"slices"
	"testing"
)

// kept returns the part of a value that an independent implementation of the paths keeps: with
// maps, and path by path. The second result reports whether anything was found in it.
func kept(value any, paths []Path, parents bool) (any, bool) {
	if slices.ContainsFunc(paths, func(path Path) bool { return len(path) == 0 }) {
		return value, true
	}
	switch value := value.(type) {
	case map[string]any:
		members := make(map[string]any)
		for name, member := range value {
			behind := behind(paths, Step{Name: name})
			if cut, found := kept(member, behind, parents); len(behind) > 0 && found {
				members[name] = cut
			}
		}
		return members, parents || len(members) > 0
	case []any:
		elements, any := make([]any, len(value)), parents
		for i, element := range value {
			var found bool
			elements[i], found = kept(element, behind(paths, Step{Each: true}), parents)
			any = any || found
		}
		return elements, any
	}
	if parents {
		return value, true
	}
	return nil, false
}

// behind returns the rests of the paths that lead through a step.
func behind(paths []Path, step Step) (rests []Path) {
	for _, path := range paths {
		if path[0] == step || path[0].Each {
			rests = append(rests, path[1:])
		}
	}
	return rests
}

// checkByOracle compares a masked text with the oracle.
func checkByOracle(t *testing.T, m *Mask, paths []Path, text, masked []byte) {
	t.Helper()
	var whole, got any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(masked, &got); err != nil {
		t.Fatalf("%s under %s: %v", masked, m, err)
	}
	cut, _ := kept(whole, paths, m.parents)
	want, _ := json.Marshal(cut)
	again, _ := json.Marshal(got)
	if string(want) != string(again) {
		t.Errorf("%s under %s is\n%s, want\n%s", text, m, masked, want)
	}
}
