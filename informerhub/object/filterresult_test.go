package object

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/informerhub/filter"
)

func TestObject_CachesFilterResultsInTheWindow(t *testing.T) {
	object := podObject(t, traits{Namespace: "default", Name: "a", Version: "1", Node: "n1"})
	object.CacheEncodings()
	filters := []*filter.Filter{filterOf(t, `object.spec.nodeName == 'n1'`), filterOf(t, `object.spec.nodeName == 'n2'`), filterOf(t, `object.x == 1`)}
	for range 2 {
		for i, f := range filters {
			matches, err := object.PassesFilter(f, nil)
			if matches != (i == 0) || (err != nil) != (i == 2) {
				t.Errorf("%s: %v, %v", f, matches, err)
			}
		}
	}
	if kept := object.encodings.Load().filterResults[filters[0].Number()%maxFilterResults].Load(); kept == nil || kept.filter != filters[0] || !kept.matches {
		t.Errorf("cached %v", kept)
	}
}

func filterOf(t testing.TB, text string) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(text)
	must(t, err)
	return f
}
