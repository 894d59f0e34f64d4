package wire_test

import (
	"regexp"
	"slices"
	"strings"
)

// names are the placeholders of one family, in both directions: fill puts the values of this run into a
// request, and hide replaces them in what was recorded. A placeholder stands for the same value in all
// exchanges of a family, if it has a name of its own, such as <uid of one>.
type names struct {
	values map[string]string // by placeholder
}

func newNames() *names { return &names{values: map[string]string{}} }

// set makes a placeholder stand for a value from now on.
func (n *names) set(placeholder, value string) { n.values[placeholder] = value }

// fill replaces placeholders by values.
func (n *names) fill(text string) string {
	for placeholder, value := range n.values {
		text = strings.ReplaceAll(text, placeholder, value)
	}
	return text
}

// pattern replaces what differs from run to run by a placeholder.
type pattern struct {
	what        *regexp.Regexp
	placeholder string // with the groups of what
	keeps       bool   // later requests can send the value of the second group in place of the placeholder
}

// member matches a member of JSON, or a field of protobuf, by its name.
func member(name, value string) *regexp.Regexp {
	return regexp.MustCompile(`(\b(?:` + name + `)"?: ")(` + value + `)`)
}

// uuid matches a UID of Kubernetes.
const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// patterns are applied in this order, after the placeholders with a value.
var patterns = []pattern{
	{member("nextPageToken|next_page_token", `[^"<]+`), `$1<page token>`, true},
	{member("resumeToken|resume_token", `[^"<]+`), `$1<resume token>`, true},
	{regexp.MustCompile(`(?m)^(Etag: )(W/"[\w-]{24}\.[\w-]{24}")$`), `$1<etag>`, true},
	{regexp.MustCompile(`(?m)^(Etag: )(W/"\.[\w-]{24}")$`), `$1<etag without state>`, true},
	{member("resourceVersion|resource_version", `\d+`), `$1<version>`, false},
	{regexp.MustCompile(`\b` + uuid + `\b`), `<uid>`, false},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), `<hash>`, false},
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"`), `"<time>"`, false},
	{regexp.MustCompile(`"(?:\d+[dhms]){1,2}"`), `"<age>"`, false},
	{regexp.MustCompile(`(?m)^Date: .+$`), `Date: <date>`, false},
	{regexp.MustCompile(`(?m)^X-Request-Id: [a-z2-7]{26}$`), `X-Request-Id: <id>`, false},
	{regexp.MustCompile(`(?m)^Kubeconnect-Replica: .+$`), `Kubeconnect-Replica: <replica>`, false},
	{regexp.MustCompile(`(retry_after_seconds: |retryAfterSeconds"?: |retry in )\d+`), `$1<seconds>`, false},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), `<address>`, false},
	{regexp.MustCompile(`stream ID \d+`), `stream ID <id>`, false},
}

// eitherSpace replaces the non-breaking spaces that protobuf's errors have in one build and not in the next,
// also as gRPC encodes them and as Go quotes them.
var eitherSpace = strings.NewReplacer("\u00a0", " ", `\u00a0`, " ", "%C2%A0", " ")

// hide replaces values by placeholders.
func (n *names) hide(text string) string {
	text = eitherSpace.Replace(text)
	for _, placeholder := range n.byLength() {
		text = strings.ReplaceAll(text, n.values[placeholder], placeholder)
	}
	for _, p := range patterns {
		if p.keeps {
			n.keep(p, text)
		}
		text = p.what.ReplaceAllString(text, p.placeholder)
	}
	return text
}

// byLength returns the placeholders, first those of the longest values, which can contain others.
func (n *names) byLength() []string {
	var placeholders []string
	for placeholder, value := range n.values {
		if value != "" {
			placeholders = append(placeholders, placeholder)
		}
	}
	slices.SortFunc(placeholders, func(a, b string) int { return len(n.values[b]) - len(n.values[a]) })
	return placeholders
}

// keep makes the placeholder of a pattern stand for the last value that the pattern matches.
func (n *names) keep(p pattern, text string) {
	placeholder := p.placeholder[strings.Index(p.placeholder, "<"):]
	for _, found := range p.what.FindAllStringSubmatch(text, -1) {
		n.set(placeholder, found[2])
	}
}
