package coverage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is where the table lies.
var page = filepath.Join(root, "docs", "coverage.md")

// verbs are the columns of the table.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// cell is what is known of a verb of a row.
type cell struct {
	objects, errors int // that were compared
	differ          int
	refused         bool
	note            string // the footnote that says more
}

// mark is what the table shows.
func (c *cell) mark() string {
	switch {
	case c == nil:
		return "—"
	case c.differ > 0:
		return "differs"
	case c.refused:
		return "refused" + c.footnote()
	case c.objects == 0 || c.errors == 0:
		return "untried"
	}
	return "✓" + c.footnote()
}

func (c *cell) footnote() string {
	if c.note == "" {
		return ""
	}
	return "[^" + c.note + "]"
}

// line is a row of the table.
type line struct {
	row   row
	cells map[string]*cell
}

// compareWithPage fails unless the page shows these lines. With UPDATE=1 it is written.
func compareWithPage(t *testing.T, version string, compared int32, lines []line) {
	t.Helper()
	made := document(version, compared, lines)
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(written), made); diff != "" {
		t.Errorf("docs/coverage.md is not what was seen: `make coverage` writes it anew (-written +seen)\n%s", diff)
	}
}

// document is the whole page.
func document(version string, compared int32, lines []line) string {
	var tables strings.Builder
	cells := 0
	for i, line := range lines {
		if i == 0 || line.row.of.GroupVersion() != lines[i-1].row.of.GroupVersion() {
			tables.WriteString(heading(line.row))
		}
		tables.WriteString(line.text())
		cells += len(line.cells)
	}
	return fmt.Sprintf(head, version, len(lines), cells, compared) + tables.String() + footnotes
}

func heading(of row) string {
	columns := "| resource | " + strings.Join(verbs, " | ") + " |\n|---" + strings.Repeat("|:-:", len(verbs)) + "|\n"
	return "\n## " + of.of.GroupVersion().String() + "\n\n" + columns
}

func (l line) text() string {
	marks := []string{l.row.name()}
	for _, verb := range verbs {
		marks = append(marks, l.cells[verb].mark())
	}
	return "| " + strings.Join(marks, " | ") + " |\n"
}

const head = `<!-- Made by e2e/coverage: do not edit, run "make coverage". -->

# Every resource, every verb

What the discovery of Kubernetes %s lists, with all alpha and beta groups on and two
custom resources: %d resources and subresources, %d times a verb. Each of these cells is
some calls that were made through kubeconnect and by client-go, to one real API server,
and answered alike: %d pairs of answers in all. The test in
[e2e/coverage](../e2e/coverage) makes this page (` + "`make coverage`" + `), and fails where
the page is not what it sees.

| | what is compared |
|---|---|
| ✓ | What both were answered is the same, objects and errors alike. |
| — | Discovery does not list the verb. |
| get, list | Objects as JSON and as protobuf, in one namespace and in all, from memory and from the API server; names and namespaces that there are not, selectors of no sense. |
| watch | Every event of all that is done in the row, in order, with its object and version; selectors of no sense. |
| create | The object that is made; one that is malformed, invalid, there already, or in no namespace. |
| update | The object that is changed; one that is malformed, invalid, of an old version, or not there. |
| patch | JSON, merge and strategic merge patches, and server-side apply; patches that are malformed, invalid, of an old version, of nothing, or in conflict with another manager. |
| delete, deletecollection | What is left of the object, or how many were deleted; one of another UID or not there, selectors of no sense. |

Reads are compared as they are, but for metadata.managedFields, which kubeconnect leaves
out. Writes are made to two objects, equal but for their names, and compared but for what
two objects cannot have alike: name, UID, resource version, times, cluster IPs and tokens.
Errors are compared in code, reason, message, what they are about, and every cause. An error
of a label selector in a read begins with the name of the request's field; what comes after
it is client-go's.

While this is done the control plane's controllers stand still, and change no object.
`

const footnotes = `
[^connection]: A connection to a container or a server, and no object: kubeconnect refuses
    it with INVALID_ARGUMENT, and says which command does it. Deletions of subresources
    cannot be asked for at all.
[^log]: Not an object, but text: it is read with PodService.GetLogs, and compared byte by
    byte with what client-go reads.
[^newer]: client-go's Go type, which the service writes JSON by, is newer than the API
    server's: it adds an empty status. As protobuf, the objects are the same.
`
