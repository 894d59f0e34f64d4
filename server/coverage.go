package server

import (
	"fmt"
	"strings"

	"github.com/kubeconnect/kubeconnect/auth"
)

// maxNamedNamespaces bounds the namespaces that a warning names. The response's own list is
// complete: 16,000 of the longest names fit in addition to a page.
const maxNamedNamespaces = 20

// coverageOf returns the namespaces that a response covers, and the warning that it covers no
// others. Both are empty if the response is complete. Neither contains anything about namespaces
// that the caller cannot read, not even their number.
func coverageOf(access accessRequest, scope auth.Namespaces) (namespaces, warnings []string) {
	if scope.All {
		return nil, nil
	}
	named, more := scope.Names, ""
	if len(named) > maxNamedNamespaces {
		named, more = named[:maxNamedNamespaces], fmt.Sprintf(" and %d more", len(named)-maxNamedNamespaces)
	}
	needed := fmt.Sprintf("%s %s", strings.Join(access.verbs, " and "), access.resource.GroupResource())
	if access.also != nil {
		needed += " and get their logs"
	}
	warning := fmt.Sprintf("the answer covers %d of the cluster's namespaces: %s%s; you may not %s in the others",
		len(scope.Names), strings.Join(named, ", "), more, needed)
	return scope.Names, []string{warning}
}
