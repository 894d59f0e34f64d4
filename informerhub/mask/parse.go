package mask

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth is the maximum number of steps of a path.
const maxDepth = 32

// ParsePath parses a path in the notation of kubectl's JSONPath: "metadata.name",
// "{.metadata.name}", "$.metadata.name", "spec.containers[*].image",
// "metadata.labels['app.kubernetes.io/name']", "metadata.labels.app\.kubernetes\.io/name". The
// error contains the path and the correction.
func ParsePath(text string) (Path, error) {
	path, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return path, nil
}

func parse(text string) (path Path, err error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8")
	}
	rest, err := unwrap(text)
	if err != nil {
		return nil, err
	}
	path = make(Path, 0, min(1+strings.Count(rest, ".")+strings.Count(rest, "["), maxDepth+1))
	for rest != "" {
		var step Step
		if step, rest, err = cutStep(rest, len(path) == 0); err != nil {
			return nil, err
		}
		path = append(path, step)
	}
	switch {
	case len(path) == 0:
		return nil, errors.New(`it names no field: write one, such as "metadata.name"`)
	case len(path) > maxDepth:
		return nil, fmt.Errorf("it has %d steps: %d is the most", len(path), maxDepth)
	}
	return path, nil
}

// unwrap removes the optional braces and "$" around a path.
func unwrap(text string) (string, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		if text, ok = strings.CutSuffix(inner, "}"); !ok {
			return "", errors.New("its brace is not closed")
		}
		text = strings.TrimSpace(text)
	}
	if rest, ok := strings.CutPrefix(text, "$"); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
		text = rest
	}
	if text == "." {
		return "", nil
	}
	return text, nil
}

// cutStep reads the step at the beginning of a text. The first step needs no dot.
func cutStep(text string, first bool) (Step, string, error) {
	dotted, hasDot := strings.CutPrefix(text, ".")
	switch {
	case strings.HasPrefix(text, "["):
		return cutBrackets(text)
	case hasDot && strings.HasPrefix(dotted, "["):
		return cutBrackets(dotted)
	case hasDot && strings.HasPrefix(dotted, "."):
		return Step{}, "", errors.New(`".." is not supported: write the whole path`)
	case hasDot && strings.HasPrefix(dotted, "*"):
		return Step{Each: true}, dotted[1:], nil
	case hasDot || first:
		return cutName(dotted)
	}
	return Step{}, "", fmt.Errorf("expected a dot or a bracket before %q", text)
}

// cutName reads a name without quotes: a backslash escapes the next character.
func cutName(text string) (Step, string, error) {
	if end := plainEnd(text); end > 0 && (end == len(text) || text[end] == '.' || text[end] == '[') {
		return Step{Name: text[:end]}, text[end:], nil
	}
	var name strings.Builder
	for text != "" && text[0] != '.' && text[0] != '[' {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\\' && len(text) > size:
			text = text[size:]
			r, size = utf8.DecodeRuneInString(text)
		case !isPlainRune(r):
			return Step{}, "", fmt.Errorf("write a name with %q in it as ['name']", r)
		}
		name.WriteRune(r)
		text = text[size:]
	}
	if name.Len() == 0 {
		return Step{}, "", errors.New("a name is missing after a dot")
	}
	return Step{Name: name.String()}, text, nil
}

// plainEnd returns the number of bytes at the beginning of a text that need no escape.
func plainEnd(text string) int {
	for i, r := range text {
		if !isPlainRune(r) {
			return i
		}
	}
	return len(text)
}

// cutBrackets reads a step in brackets.
func cutBrackets(text string) (Step, string, error) {
	inner := strings.TrimLeft(text[1:], " ")
	if inner != "" && (inner[0] == '\'' || inner[0] == '"') {
		return cutQuoted(inner)
	}
	end := strings.IndexByte(inner, ']')
	if end < 0 {
		return Step{}, "", errNotClosed
	}
	switch what := strings.TrimRight(inner[:end], " "); {
	case what == "*":
		return Step{Each: true}, inner[end+1:], nil
	case strings.ContainsAny(what, "?@("):
		return Step{}, "", errors.New("conditions are not supported: write [*] for each element")
	case strings.ContainsAny(what, ":,"):
		return Step{}, "", errors.New("slices are not supported: write [*] for each element")
	case what == "" || strings.Trim(what, "-0123456789") == "":
		return Step{}, "", errors.New("single elements are not supported: write [*] for each element")
	default:
		return Step{}, "", fmt.Errorf("write ['%s'] for the member of that name", what)
	}
}

var errNotClosed = errors.New("its bracket is not closed")

// cutQuoted reads a name in quotes, and the closing bracket after it.
func cutQuoted(text string) (Step, string, error) {
	var name strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
		case text[i] == text[0]:
			rest, ok := strings.CutPrefix(strings.TrimLeft(text[i+1:], " "), "]")
			if !ok {
				return Step{}, "", errNotClosed
			}
			return Step{Name: name.String()}, rest, nil
		}
		name.WriteByte(text[i])
	}
	return Step{}, "", errors.New("its quote is not closed")
}
