package filter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
)

const (
	// maxIssues bounds the reported mistakes of an expression.
	maxIssues = 4
	// maxIssueBytes bounds the length of each, including its source line.
	maxIssueBytes = 1024
)

// malformed returns the mistakes of an expression and their positions, as cel-go formats them. The
// error is short, because errors are sent in headers.
func malformed(text string, issues *cel.Issues) error {
	var messages []string
	for i, issue := range issues.Errors() {
		if i == maxIssues {
			messages = append(messages, fmt.Sprintf("and %d more", len(issues.Errors())-i))
			break
		}
		messages = append(messages, displayed(issue, text))
	}
	return errors.New(strings.Join(messages, "\n"))
}

func displayed(issue *cel.Error, text string) string {
	display := issue.ToDisplayString(common.NewTextSource(text))
	if len(display) <= maxIssueBytes {
		return display
	}
	return fmt.Sprintf("ERROR: %d:%d: %s", issue.Location.Line(), issue.Location.Column()+1, abbreviate(issue.Message))
}

// abbreviate returns the beginning of a text.
func abbreviate(text string) string {
	const most = 256
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
