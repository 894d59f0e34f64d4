package filter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
)

const (
	// maxIssues is how many of what is wrong with an expression are told.
	maxIssues = 4
	// maxIssueBytes is how long each may be with the line that it is in.
	maxIssueBytes = 1024
)

// malformed says what is wrong with an expression, and where, as cel-go does: in a few
// words, for errors travel in headers.
func malformed(text string, issues *cel.Issues) error {
	var told []string
	for i, issue := range issues.Errors() {
		if i == maxIssues {
			told = append(told, fmt.Sprintf("and %d more", len(issues.Errors())-i))
			break
		}
		told = append(told, displayed(issue, text))
	}
	return errors.New(strings.Join(told, "\n"))
}

func displayed(issue *cel.Error, text string) string {
	display := issue.ToDisplayString(common.NewTextSource(text))
	if len(display) <= maxIssueBytes {
		return display
	}
	return fmt.Sprintf("ERROR: %d:%d: %s", issue.Location.Line(), issue.Location.Column()+1, short(issue.Message))
}

// short is the beginning of a text.
func short(text string) string {
	const most = 256
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
