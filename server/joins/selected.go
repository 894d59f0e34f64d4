package joins

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// invalidError reports that a row has an invalid selector.
type invalidError struct{ error }

// SelectedBy relates a row to the objects that its own selector selects. The function returns the
// selector of a row in kubectl's syntax, and false if it has none.
type SelectedBy func(row *informerhub.Object) (selector string, ok bool, err error)

func (s SelectedBy) begin(page *Page, related Related) finder {
	return &selectedFinder{page, s, related}
}

type selectedFinder struct {
	page     *Page
	selector SelectedBy
	related  Related
}

func (f *selectedFinder) find(ctx context.Context, row *informerhub.Object) ([]*informerhub.Object, error) {
	selector, ok, err := f.selector(row)
	if err != nil {
		return nil, &invalidError{err}
	}
	if !ok {
		return nil, nil
	}
	query := f.related.queryFor(row)
	query.LabelSelector = selector
	selection, err := f.related.Cache.Select(ctx, query)
	switch {
	case apierrors.IsBadRequest(err):
		return nil, &invalidError{err}
	case err != nil:
		return nil, err
	}
	snapshot, err := f.related.Cache.List(ctx, selection)
	f.page.examined += snapshot.Examined
	return snapshot.Objects, err
}
