package mask

import (
	"strings"
	"unicode/utf8"

	"github.com/kubeconnect/kubeconnect/internal/listkey"
)

// Path leads from an object to some of its fields, step by step.
type Path []Step

// Step leads from an object to one of its members. With Each it leads to all of its members, or
// from a list to all of its elements.
type Step struct {
	Name string
	Each bool
}

// IsSingle reports whether the path leads to at most one field.
func (p Path) IsSingle() bool {
	for _, step := range p {
		if step.Each {
			return false
		}
	}
	return true
}

// Key returns a value that is equal for equal paths.
func (p Path) Key() listkey.Key[Step] { return listkey.Of(p) }

// String returns the path in one of the notations that [ParsePath] reads.
func (p Path) String() string {
	var text strings.Builder
	for i, step := range p {
		switch {
		case step.Each:
			text.WriteString("[*]")
		case !isPlain(step.Name):
			text.WriteString("['" + escapeQuoted.Replace(step.Name) + "']")
		case i > 0:
			text.WriteString("." + step.Name)
		default:
			text.WriteString(step.Name)
		}
	}
	return text.String()
}

var escapeQuoted = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// isPlain reports whether a name needs no quotes in a path.
func isPlain(name string) bool {
	for _, r := range name {
		if !isPlainRune(r) {
			return false
		}
	}
	return name != "" && name[0] != '$'
}

func isPlainRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r >= utf8.RuneSelf:
		return true
	}
	return strings.ContainsRune("_-/:$", r)
}
