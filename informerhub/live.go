package informerhub

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// Live reads a resource at the API server, each time anew, by the rights of whoever its
// client acts as. What it answers is as a cache would have it. It is safe for concurrent
// use, and costs little to make.
type Live struct {
	resource Resource
	client   rest.Interface
	part     rest.Interface // answers what a subresource is
	selector selector
	// metadataOnly says that no more is asked for than the objects' metadata.
	metadataOnly bool
}

// MetadataOnly is the reader that asks for the metadata of objects alone: what it answers
// has nothing else. A query must look at nothing else then.
func (l *Live) MetadataOnly() *Live {
	only := *l
	only.metadataOnly = true
	return &only
}

// Live makes a reader of a resource that sends its requests by an HTTP client.
func (h *Hub) Live(resource Resource, client *http.Client) (*Live, error) {
	whole, err := h.clientFor(resource, client, resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	part, err := h.clientFor(resource, client, schema.GroupVersionKind{})
	if err != nil {
		return nil, err
	}
	return &Live{resource: resource, client: whole, part: part, selector: selectorOf(resource)}, nil
}

// selectorOf understands what the API server does not select by: that is looked at here,
// whatever field it is.
func selectorOf(resource Resource) selector {
	supported := func(context.Context, string) error { return nil }
	return selector{resource: resource, selectableFields: newSelectableFields(resource, supported)}
}

// Get answers one object, or one of its subresources if that is given: its kind may be
// another one then.
func (l *Live) Get(ctx context.Context, namespace, name, subresource string) (*Object, error) {
	request := l.client.Get()
	switch {
	case subresource != "":
		request = l.part.Get().SubResource(subresource)
	case l.metadataOnly:
		request = onlyMetadata(request, l.resource, partialKind)
	}
	got, err := request.
		NamespaceIfScoped(namespace, l.resource.Namespaced).
		Resource(l.resource.Name).
		Name(name).
		MaxRetries(0). // whether to wait and call again is the caller's to decide
		Do(ctx).Get()
	if err != nil {
		return nil, describe(ctx, l.client, err)
	}
	object, ok := got.(*Object)
	if !ok {
		return nil, fmt.Errorf("%s %q: the API server has answered with no object", l.resource, name)
	}
	return object, nil
}

// livePage is how many objects are asked for at a time, as kubectl does.
const livePage = 500

// List answers what a query selects, as one snapshot, and the API server's warnings. A
// list that takes more than so many bytes is a RequestEntityTooLarge error. Where the
// query has namespaces, each of them is read.
func (l *Live) List(ctx context.Context, query Query, most int) (Snapshot, []string, error) {
	snapshot, warnings, err := l.list(ctx, query, "", most)
	if apierrors.IsResourceExpired(err) {
		// The API server has forgotten the version that the first page was of.
		return l.list(ctx, query, "", most)
	}
	return snapshot, warnings, err
}

// ListAt is List at a version that the API server has answered with before. It is a ResourceExpired
// error if the API server has forgotten that, or answers with another one. Where versions are none that can
// be asked for, as those of some aggregated APIs, ListAt lists anew.
func (l *Live) ListAt(ctx context.Context, query Query, version string, most int) (Snapshot, []string, error) {
	return l.list(ctx, query, version, most)
}

func (l *Live) list(ctx context.Context, query Query, version string, most int) (Snapshot, []string, error) {
	r, err := l.reading(ctx, query, most)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if isOfTheStore(version) {
		r.version, r.exact = version, version
	}
	for _, namespace := range namespacesOf(query) {
		if err := r.readAll(ctx, namespace); err != nil {
			return Snapshot{}, nil, err
		}
	}
	sortObjects(r.objects)
	return Snapshot{Objects: r.objects, ResourceVersion: r.version}, append(r.warnings, r.filtering.warnings()...), nil
}

// namespacesOf are those that must be read for a query; "" is all of them at once.
func namespacesOf(query Query) []string {
	within := cmp.Or(query.Namespace, query.Related.Namespace)
	switch {
	case query.Namespaces == nil, slices.Contains(query.Namespaces, within):
		return []string{within}
	case within == "":
		return slices.Compact(slices.Sorted(slices.Values(query.Namespaces)))
	}
	return nil
}

// liveList is a list that is being read.
type liveList struct {
	*Live
	scope     scope
	selection *Selection // what the API server does not select by
	filtering filtering
	most      int

	objects  []*Object
	bytes    int
	version  string // of the first page, and so of all
	exact    string // what the version must be; empty for the latest
	warnings []string
}

func (l *Live) reading(ctx context.Context, query Query, most int) (*liveList, error) {
	if err := checkSelectors(query); err != nil {
		return nil, err
	}
	r := &liveList{Live: l, scope: scopeOf(query), most: most}
	query.LabelSelector, query.FieldSelector = "", ""
	var err error
	r.selection, err = l.selector.understand(ctx, query)
	r.filtering.filter = query.Filter
	return r, err
}

// readAll reads a namespace, page by page.
func (r *liveList) readAll(ctx context.Context, namespace string) error {
	options := metav1.ListOptions{LabelSelector: r.scope.labels, FieldSelector: r.scope.fields, Limit: livePage}
	if isOfTheStore(r.version) {
		options.ResourceVersion, options.ResourceVersionMatch = r.version, metav1.ResourceVersionMatchExact
	}
	for {
		page, err := r.read(ctx, namespace, options)
		if err != nil {
			return err
		}
		if err := r.take(ctx, page); err != nil || page.Continue == "" {
			return err
		}
		options.Continue, options.ResourceVersion, options.ResourceVersionMatch = page.Continue, "", ""
	}
}

func (r *liveList) read(ctx context.Context, namespace string, options metav1.ListOptions) (*objectList, error) {
	request := r.client.Get()
	if r.metadataOnly {
		request = onlyMetadata(request, r.resource, partialListKind)
	}
	result := request.
		NamespaceIfScoped(namespace, namespace != "").
		Resource(r.resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		MaxRetries(0).
		Do(ctx)
	got, err := result.Get()
	if err != nil {
		return nil, describe(ctx, r.client, err)
	}
	for _, warning := range result.Warnings() {
		if !slices.Contains(r.warnings, warning.Text) {
			r.warnings = append(r.warnings, warning.Text)
		}
	}
	page, ok := got.(*objectList)
	if !ok {
		return nil, fmt.Errorf("%s: the API server has answered with no list", r.resource)
	}
	return page, nil
}

// take adds what is selected of a page, in a turn of the processors.
func (r *liveList) take(ctx context.Context, page *objectList) error {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if r.version == "" {
		r.version = page.ResourceVersion
	}
	if r.exact != "" && page.ResourceVersion != r.exact {
		return apierrors.NewResourceExpired(fmt.Sprintf("the API server has answered with version %s and not with %s", page.ResourceVersion, r.exact))
	}
	for _, object := range page.Items {
		if object.name == "" {
			continue // unreadable: see codec
		}
		keep, err := r.filtering.selects(ctx, r.selection, object)
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		r.objects = append(r.objects, object)
		if r.bytes += object.Size(); r.bytes > r.most {
			return tooLarge(r.resource, r.most)
		}
	}
	return nil
}

func tooLarge(resource Resource, most int) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusRequestEntityTooLarge,
		Reason: metav1.StatusReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("the list of %s takes more than %d MiB: narrow it by a namespace or selectors, "+
			"or read it from memory, where that is allowed", resource.Name, most>>20),
	}}
}

// isOfTheStore reports whether a version is one that the API server can be asked for.
func isOfTheStore(version string) bool { return version != "" && version != "0" }

// scope is what an upstream or a list is of, as the API server selects it. The zero value
// is everything.
type scope struct {
	namespace      string
	labels, fields string // selectors
}

func scopeOf(query Query) scope {
	of := scope{
		namespace: cmp.Or(query.Namespace, query.Related.Namespace),
		labels:    both(query.LabelSelector, query.Related.LabelSelector),
		fields:    query.FieldSelector,
	}
	if query.Name != "" {
		of.fields = both(fields.OneTermEqualSelector(metav1.ObjectNameField, query.Name).String(), of.fields)
	}
	return of
}

// both is a selector of two; either may be empty.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}
