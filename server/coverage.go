package server

import (
	"fmt"
	"strings"

	"github.com/kubeconnect/kubeconnect/auth"
)

// maxNamedNamespaces bounds the namespaces that a warning names. The answer's own list of
// them is whole: 16,000 of the longest names fit beside a page.
const maxNamedNamespaces = 20

// coverageOf returns the namespaces that an answer covers and the warning that it covers no
// others. Both are empty where the answer is complete. Neither says anything about the
// namespaces that the caller may not see, not even how many there are.
func coverageOf(wanted read, scope auth.Namespaces) (namespaces, warnings []string) {
	if scope.All {
		return nil, nil
	}
	named, more := scope.Names, ""
	if len(named) > maxNamedNamespaces {
		named, more = named[:maxNamedNamespaces], fmt.Sprintf(" and %d more", len(named)-maxNamedNamespaces)
	}
	warning := fmt.Sprintf("the answer covers %d of the cluster's namespaces: %s%s; you may not %s %s in the others",
		len(scope.Names), strings.Join(named, ", "), more, strings.Join(wanted.verbs, " and "), wanted.resource.GroupResource())
	return scope.Names, []string{warning}
}
