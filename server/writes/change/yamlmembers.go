package change

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// withYAMLMembers returns a YAML text with the members that its object does not have. They follow
// all others, so that the line numbers in the API server's warnings are those of the caller's text.
// It returns false if that would change the rest of the object.
func withYAMLMembers(text []byte, members []member) ([]byte, bool) {
	var before, after map[string]any
	if yaml.Unmarshal(text, &before) != nil || before == nil {
		return nil, false
	}
	var missing []member
	for _, member := range members {
		value, present := before[member.name]
		if present && value != nil && value != "" {
			continue
		}
		if present {
			return nil, false
		}
		missing = append(missing, member)
		before[member.name] = member.value
	}
	if len(missing) == 0 {
		return text, true
	}
	added := insertYAML(text, missing)
	return added, yaml.Unmarshal(added, &after) == nil && reflect.DeepEqual(before, after)
}

// insertYAML inserts members at the end of the first document, or after the brace of an object in
// braces.
func insertYAML(text []byte, members []member) []byte {
	start, indent := yamlContent(text)
	var added strings.Builder
	if text[start] == '{' {
		for _, member := range members {
			fmt.Fprintf(&added, "%s: %q, ", member.name, member.value)
		}
		return splice(text, start+1, added.String())
	}
	end := yamlEnd(text, start)
	if text[end-1] != '\n' {
		added.WriteByte('\n')
	}
	for _, member := range members {
		fmt.Fprintf(&added, "%s%s: %q\n", indent, member.name, member.value)
	}
	return splice(text, end, added.String())
}

func splice(text []byte, at int, added string) []byte {
	return bytes.Join([][]byte{text[:at], text[at:]}, []byte(added))
}

// yamlContent returns the offset of the content of the first document, after comments and markers,
// and the indentation of its line. The text must have content.
func yamlContent(text []byte) (start int, indent string) {
	for line := range bytes.Lines(text) {
		content := bytes.TrimLeft(bytes.TrimPrefix(line, []byte("---")), " ")
		start += len(line) - len(content)
		if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] != '#' {
			return start, string(bytes.TrimSuffix(line, content))
		}
		start += len(content)
	}
	return 0, ""
}

// yamlEnd returns the offset after the content of the document whose content begins at start.
func yamlEnd(text []byte, start int) int {
	end := len(text)
	for _, marker := range []string{"\n---", "\n..."} {
		if at := bytes.Index(text[start:end], []byte(marker)); at >= 0 {
			end = start + at + 1
		}
	}
	return end
}
