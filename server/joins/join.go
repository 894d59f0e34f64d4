package joins

import (
	"context"
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// Join is a join of a request, for a caller.
type Join struct {
	Name     string
	Relation Relation
	Related  Related
	Filter   *filter.Filter // nil for none
	View     encode.View    // the form of the related objects that are returned
	Limit    int            // the maximum number of related objects that are returned for a row
}

// Related is a resource, as the caller can read it.
type Related struct {
	Resource informerhub.Resource
	// Cache has the objects; nil if there are no namespaces.
	Cache *informerhub.Cache
	// Namespaces are those whose objects are read: the caller can list them there, and they are cached. They are sorted. Nil is
	// all of them, and empty is none.
	Namespaces []string
	// Permitted are those in which the caller can list the objects, whether or not they are cached, in the same form.
	Permitted []string
}

// reads reports whether the objects that may be related to a row are read, or some of them if the row is in no namespace.
func (r Related) reads(row *informerhub.Object) bool { return includes(r.Namespaces, row) }

// unread returns why the objects that may be related to a row are not read.
func (r Related) unread(row *informerhub.Object) *unreadError {
	return &unreadError{
		resource: r.Resource.GroupResource(), inNamespace: r.Resource.Namespaced && row.Namespace() != "", permitted: includes(r.Permitted, row),
	}
}

// includes reports whether namespaces include that of a row, or are any at all if the row is in none.
func includes(namespaces []string, row *informerhub.Object) bool {
	if namespaces == nil || row.Namespace() == "" {
		return namespaces == nil || len(namespaces) > 0
	}
	_, found := slices.BinarySearch(namespaces, row.Namespace())
	return found
}

// queryFor returns the query of all objects that may be related to a row.
func (r Related) queryFor(row *informerhub.Object) informerhub.Query {
	if row.Namespace() == "" {
		return informerhub.Query{Namespaces: r.Namespaces}
	}
	return informerhub.Query{Namespace: row.Namespace()}
}

// get returns the object that a row names; nil if it does not exist.
func (r Related) get(row *informerhub.Object, name string) *informerhub.Object {
	namespace := ""
	if r.Resource.Namespaced {
		namespace = row.Namespace()
	}
	object, err := r.Cache.Get(namespace, name)
	if err != nil {
		return nil
	}
	return object
}

// Relation leads from a row to the objects that are related to it.
type Relation interface {
	// begin returns a finder for the rows of one page.
	begin(*Page, Related) finder
}

// finder finds the objects that are related to a row, in order of namespace and name. They are read in the row's
// namespace. It returns errFull if the page ends before the row, and an *unreadError if an owner between is not read. It is owned
// by a page.
type finder interface {
	find(ctx context.Context, row *informerhub.Object) ([]*informerhub.Object, error)
}
