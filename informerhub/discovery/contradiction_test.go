package discovery

import (
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestContradicts_OnlyErrorsOfTheWholeResource(t *testing.T) {
	unknownPath := apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", widgets.GroupResource(), "a", "404 page not found", 0, true)
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                  {nil, false},
		"a path that is not served": {fmt.Errorf("x: %w", unknownPath), true},
		"an object that is missing": {apierrors.NewNotFound(widgets.GroupResource(), "a"), false},
		"another plain response":    {apierrors.NewGenericServerResponse(http.StatusBadGateway, "GET", widgets.GroupResource(), "a", "bad gateway", 0, true), false},
		"a cache that has ended":    {&ResourceGoneError{widgets}, true},
		"a kind without a schema":   {&NoSchemaError{widgets}, true},
		"a name that is not served": {&UnknownResourceError{Name: "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Contradicts(test.err); got != test.want {
				t.Errorf("Contradicts returned %v", got)
			}
		})
	}
}
