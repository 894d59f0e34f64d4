package kubeconnect_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// avoidedWord is a word for which this field has a term that a reader would search for.
type avoidedWord struct {
	pattern *regexp.Regexp
	instead string
	reason  string
}

// avoidedWords are words that readers of client-go do not expect. CONTRIBUTING.md has the rule, and
// docs/terms.md the terms.
var avoidedWords = []avoidedWord{
	{word(`told|tells?|telling`), "sent, delivered, reported, logged, enqueued", "it leaves open which of these happens"},
	{word(`whoever|whom|whereof`), "the caller, the client, the watcher, the object", "it leaves open who or what is meant"},
	{word(`(goes|go|went|going|gone) on`), "continues, resumes", "only a stream with a token resumes"},
	{word(`held against`), "matched, validated, compared", "it is an idiom with another meaning"},
	{word(`lets? go of`), "releases, evicts", "leases are released, and caches are evicted"},
	{word(`turned away`), "rejected", "calls above a limit are rejected everywhere else"},
	{word(`anew`), "again", "it is not in the vocabulary of many readers"},
}

func word(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`) }

// wordException allows one avoided word in lines that contain a text.
type wordException struct{ file, line, reason string }

var wordExceptions = []wordException{
	{"words_test.go", "", "the list itself, and its tests"},
}

func TestWords_AreThoseOfTheField(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range writtenFiles(t, writtenSuffixes...) {
		checked++
		for _, complaint := range checkWords(file, readDoc(t, file)) {
			t.Error(complaint)
		}
	}
	if checked < 5 {
		t.Fatalf("%d files were checked: this test looks in the wrong place", checked)
	}
}

func TestCheckWords_ReportsAvoidedWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want int
	}{
		"plain English":           {text: "// Next blocks until events are available.\n"},
		"an avoided word":         {text: "// The watcher is told of a change.\n", want: 1},
		"in capitals":             {text: "Told.", want: 1},
		"two lines":               {text: "for whom\nbegins anew", want: 2},
		"two words in one line":   {text: "whoever is told", want: 2},
		"a phrase":                {text: "the stream goes on", want: 1},
		"a part of a longer word": {text: "untold, renewed"},
		"a part of an identifier": {text: "TestAWatcherIsToldOfIt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := checkWords("informerhub/doc.go", test.text); len(got) != test.want {
				t.Errorf("got %d complaints, want %d: %q", len(got), test.want, got)
			}
		})
	}
}

// checkWords returns a complaint for each avoided word in a file.
func checkWords(file, text string) (complaints []string) {
	for number, line := range strings.Split(text, "\n") {
		if slices.ContainsFunc(wordExceptions, func(e wordException) bool {
			return e.file == file && strings.Contains(line, e.line)
		}) {
			continue
		}
		for _, avoided := range avoidedWords {
			if found := avoided.pattern.FindString(line); found != "" {
				complaints = append(complaints, fmt.Sprintf("%s:%d: %q: write %s, because %s", file, number+1, found, avoided.instead, avoided.reason))
			}
		}
	}
	return complaints
}

// writtenSuffixes are the ends of names of files that people write.
var writtenSuffixes = []string{
	".go", ".py", ".ts", ".mjs", ".js", ".html", ".css", ".md", ".proto", ".yaml", ".tpl", ".sh", "Makefile",
}

func TestWordExceptions_AreNeeded(t *testing.T) {
	t.Parallel()
	for _, exception := range wordExceptions {
		if _, err := os.Stat(exception.file); err != nil || exception.reason == "" {
			t.Errorf("the exception for %s has no file or no reason: %v", exception.file, err)
		}
	}
}
