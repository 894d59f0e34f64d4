package main

import (
	"fmt"
	"strings"

	"github.com/kubeconnect/kubeconnect/cmd/server/preflight"
)

// describeResults returns results as text: one line for each, what follows from it below, and at the end
// the commands that grant what is missing.
func describeResults(results []preflight.Result) string {
	width := 0
	for _, result := range results {
		width = max(width, len(result.Check))
	}
	var text strings.Builder
	for _, result := range results {
		fmt.Fprintf(&text, "%-7s  %-*s  %s\n", result.Outcome, width, result.Check, result.Found)
		for _, line := range []struct{ label, text string }{{"", result.Consequence}, {"Fix: ", result.Remedy}} {
			if line.text != "" {
				fmt.Fprintf(&text, "%*s%s%s\n", 7+2+width+2, "", line.label, line.text)
			}
		}
	}
	var totals []string
	for _, outcome := range []preflight.Outcome{preflight.OK, preflight.Warning, preflight.Failed, preflight.Skipped} {
		if n := count(results, outcome); n > 0 {
			totals = append(totals, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	text.WriteString("\n" + strings.Join(totals, ", ") + "\n")
	return text.String() + describeGrants(results)
}

// describeGrants returns one command for all failed checks, and one for the warnings.
func describeGrants(results []preflight.Result) string {
	var text strings.Builder
	for _, group := range []struct {
		heading  string
		outcome  preflight.Outcome
		powerful bool
	}{
		{"As an administrator, grant what the failed checks need:", preflight.Failed, false},
		{"As an administrator, grant what the warnings name, unless it is missing on purpose:", preflight.Warning, false},
		{"Impersonation makes the service's account as powerful as an administrator. Grant it only if " +
			"callers are to write through the service (docs/security.md):", preflight.Warning, true},
	} {
		var missing []*preflight.Permissions
		for _, result := range results {
			if result.Missing != nil && result.Outcome == group.outcome && result.Missing.Powerful == group.powerful {
				missing = append(missing, result.Missing)
			}
		}
		if len(missing) > 0 {
			text.WriteString("\n" + group.heading + "\n\n" + preflight.Grant(preflight.User(results), missing...))
		}
	}
	return text.String()
}
