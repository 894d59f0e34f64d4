package main

import (
	"regexp"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
)

// typeLike matches names that are written like those of messages, and are no words.
var typeLike = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z][A-Za-z]*\b`)

// markup escapes what Markdown would interpret and the comments mean literally, as in "items[*]".
var markup = strings.NewReplacer("*", `\*`, "<", "&lt;", "[", `\[`)

// prose returns a comment as Markdown with an indent. Paragraphs and lists remain, and names of
// messages become links.
func (p *page) prose(comment protogen.Comments, indent string) string {
	var text strings.Builder
	inList := false
	for line := range strings.Lines(string(comment)) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), " ")
		if begins := strings.HasPrefix(line, "- "); begins && !inList {
			text.WriteByte('\n') // Markdown needs an empty line before a list
			inList = true
		} else if line == "" {
			inList = false
		}
		if line != "" {
			text.WriteString(indent + p.linked(markup.Replace(line)))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// linked turns the names of the package's messages into links.
func (p *page) linked(line string) string {
	return typeLike.ReplaceAllStringFunc(line, func(name string) string {
		if !p.types[name] {
			return name
		}
		return p.link(name)
	})
}
