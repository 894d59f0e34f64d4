package informerhub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// Live reads a resource directly from the API server, with the permissions of the caller that its
// client acts as. Its results have the form of a cache's results. It is safe for concurrent use,
// and cheap to create.
type Live struct {
	resource Resource
	client   rest.Interface
	part     rest.Interface // decodes subresources
	selector selector
	// metadataOnly requests only the objects' metadata.
	metadataOnly bool
	turn         func(context.Context) error // see InTurns; may be nil
}

// MetadataOnly returns a reader that requests only the metadata of objects. A query must not read
// anything else then.
func (l *Live) MetadataOnly() *Live {
	only := *l
	only.metadataOnly = true
	return &only
}

// InTurns returns a reader that calls turn before each request for a part of a list. A list is read by many requests if it has
// many pages or namespaces, so turn can let other lists go first. An error of turn ends the list.
func (l *Live) InTurns(turn func(context.Context) error) *Live {
	inTurns := *l
	inTurns.turn = turn
	return &inTurns
}

// selectorOf returns a parser of the conditions that the API server does not select by. They are
// matched here, so all fields are supported.
func selectorOf(resource Resource) selector {
	supported := func(context.Context, string) error { return nil }
	return selector{resource: resource, selectableFields: object.NewSelectableFields(resource, supported)}
}

// Get returns one object, or one of its subresources if subresource is not empty. The subresource
// may be of another kind.
func (l *Live) Get(ctx context.Context, namespace, name, subresource string) (*Object, error) {
	request := l.client.Get()
	switch {
	case subresource != "":
		request = l.part.Get().SubResource(subresource)
	case l.metadataOnly:
		request = object.RequestMetadata(request, l.resource, object.PartialKind)
	}
	got, err := request.
		NamespaceIfScoped(namespace, l.resource.Namespaced).
		Resource(l.resource.Name).
		Name(name).
		MaxRetries(0). // the caller decides whether to wait and retry
		Do(ctx).Get()
	if err != nil {
		return nil, discovery.AsUnavailable(ctx, l.client, err)
	}
	object, ok := got.(*Object)
	if !ok {
		return nil, fmt.Errorf("%s %q: the API server's response is not an object", l.resource, name)
	}
	return object, nil
}

// livePage is the number of objects in a page, as in kubectl.
const livePage = 500

// List returns the content of a query as one snapshot, and the API server's warnings. A list of
// more than maxBytes bytes is a RequestEntityTooLarge error. If the query has namespaces, each of
// them is read.
func (l *Live) List(ctx context.Context, query Query, maxBytes int) (Snapshot, []string, error) {
	snapshot, warnings, err := l.list(ctx, query, "", maxBytes)
	if apierrors.IsResourceExpired(err) {
		// The API server no longer has the version of the first page.
		return l.list(ctx, query, "", maxBytes)
	}
	return snapshot, warnings, err
}

// ListAt is like List, at a version that the API server has returned before. It fails with a
// ResourceExpired error if the API server no longer has that version, or responds with another one.
// If versions cannot be requested, as with some aggregated APIs, ListAt lists the latest version.
func (l *Live) ListAt(ctx context.Context, query Query, version string, maxBytes int) (Snapshot, []string, error) {
	return l.list(ctx, query, version, maxBytes)
}

func (l *Live) list(ctx context.Context, query Query, version string, maxBytes int) (Snapshot, []string, error) {
	r, err := l.newList(ctx, query, maxBytes)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if isRequestable(version) {
		r.version, r.exact = version, version
	}
	for _, namespace := range namespacesOf(query) {
		err := r.readAll(ctx, namespace)
		if apierrors.IsForbidden(err) && query.readsAll() && namespace != "" {
			// Only the relation is limited to the namespace, not the request: an authorizer can
			// allow a list over all namespaces, and deny one of them.
			err = r.readAll(ctx, "")
		}
		if err != nil {
			return Snapshot{}, nil, err
		}
	}
	sortObjects(r.objects)
	return Snapshot{Objects: r.objects, ResourceVersion: r.version}, append(r.warnings, r.filtering.warnings()...), nil
}

// readsAll reports whether a query is for all namespaces.
func (q Query) readsAll() bool { return q.Namespace == "" && q.Namespaces == nil }

// namespacesOf returns the namespaces that must be read for a query; "" is all of them at once.
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
	live      *Live
	scope     scope
	selection *Selection // conditions that the API server does not select by
	filtering filtering
	maxBytes  int

	objects  []*Object
	bytes    int
	version  string // of the first page, and so of all
	exact    string // required version; empty for the latest
	warnings []string
}

func (l *Live) newList(ctx context.Context, query Query, limit int) (*liveList, error) {
	if err := checkSelectors(query); err != nil {
		return nil, err
	}
	r := &liveList{live: l, scope: scopeOf(query), maxBytes: limit}
	query.LabelSelector, query.FieldSelector = "", ""
	var err error
	r.selection, err = l.selector.parse(ctx, query)
	r.filtering.filter = query.Filter
	return r, err
}

// readAll reads a namespace, page by page.
func (r *liveList) readAll(ctx context.Context, namespace string) error {
	options := metav1.ListOptions{LabelSelector: r.scope.labels, FieldSelector: r.scope.fields, Limit: livePage}
	if isRequestable(r.version) {
		options.ResourceVersion, options.ResourceVersionMatch = r.version, metav1.ResourceVersionMatchExact
	}
	for {
		page, err := r.read(ctx, namespace, options)
		if err != nil {
			return err
		}
		if err := r.add(ctx, page); err != nil || page.Continue == "" {
			return err
		}
		options.Continue, options.ResourceVersion, options.ResourceVersionMatch = page.Continue, "", ""
	}
}

func (r *liveList) read(ctx context.Context, namespace string, options metav1.ListOptions) (*object.List, error) {
	if r.live.turn != nil {
		if err := r.live.turn(ctx); err != nil {
			return nil, err
		}
	}
	request := r.live.client.Get()
	if r.live.metadataOnly {
		request = object.RequestMetadata(request, r.live.resource, object.PartialListKind)
	}
	result := request.
		NamespaceIfScoped(namespace, namespace != "").
		Resource(r.live.resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		MaxRetries(0).
		Do(ctx)
	got, err := result.Get()
	if err != nil {
		return nil, discovery.AsUnavailable(ctx, r.live.client, err)
	}
	for _, warning := range result.Warnings() {
		if !slices.Contains(r.warnings, warning.Text) {
			r.warnings = append(r.warnings, warning.Text)
		}
	}
	page, ok := got.(*object.List)
	if !ok {
		return nil, fmt.Errorf("%s: the API server's response is not a list", r.live.resource)
	}
	return page, nil
}

// add adds the selected objects of a page, in a processor slot.
func (r *liveList) add(ctx context.Context, page *object.List) error {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if r.version == "" {
		r.version = page.ResourceVersion
	}
	if r.exact != "" && page.ResourceVersion != r.exact {
		return apierrors.NewResourceExpired(fmt.Sprintf("the API server responded with version %s instead of %s",
			page.ResourceVersion, r.exact))
	}
	for _, object := range page.Items {
		if object.Name() == "" {
			continue // unreadable: see object.Codec
		}
		keep, err := r.filtering.matches(ctx, r.selection, object)
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		r.objects = append(r.objects, object)
		if r.bytes += object.Size(); r.bytes > r.maxBytes {
			return tooLarge(r.live.resource, r.maxBytes)
		}
	}
	return nil
}

func tooLarge(resource Resource, limit int) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusRequestEntityTooLarge,
		Reason: metav1.StatusReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("the list of %s takes more than %d MiB: narrow it by a namespace or selectors, "+
			"or read it from the cache, where that is allowed", resource.Name, limit>>20),
	}}
}

// isRequestable reports whether a version can be requested from the API server.
func isRequestable(version string) bool { return version != "" && version != "0" }

// scope is the selection of an upstream or a list by the API server. The zero value is everything.
type scope struct {
	namespace      string
	labels, fields string // selectors
}

func scopeOf(query Query) scope {
	result := scope{
		namespace: cmp.Or(query.Namespace, query.Related.Namespace),
		labels:    joinSelectors(query.LabelSelector, query.Related.LabelSelector),
		fields:    query.FieldSelector,
	}
	if query.Name != "" {
		result.fields = joinSelectors(fields.OneTermEqualSelector(metav1.ObjectNameField, query.Name).String(), result.fields)
	}
	return result
}

// joinSelectors returns the conjunction of two selectors; either may be empty.
func joinSelectors(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// asTable requests a table, as kubectl does.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// Table returns objects as the API server prints them, with their metadata, and the API server's
// warnings. It returns one object if a name is given, and otherwise those that match the options.
func (l *Live) Table(
	ctx context.Context, namespace, name string, options metav1.ListOptions,
) (*metav1.Table, []string, error) {
	request := l.client.Get().
		NamespaceIfScoped(namespace, namespace != "").
		Resource(l.resource.Name).
		SetHeader("Accept", asTable).
		Param("includeObject", string(metav1.IncludeMetadata))
	if name != "" {
		request = request.Name(name)
	} else {
		request = request.SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
	}
	result := request.MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, nil, discovery.AsUnavailable(ctx, l.client, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, nil, err
	}
	table, err := l.readTable(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	for _, warning := range result.Warnings() {
		warnings = append(warnings, warning.Text)
	}
	return table, warnings, nil
}

// readTable reads a table, which may have the metadata of hundreds of objects, in a processor slot.
func (l *Live) readTable(ctx context.Context, body []byte) (*metav1.Table, error) {
	_, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil || table.Kind != "Table" {
		return nil, fmt.Errorf("%s: the API server's response is not a table (%v)", l.resource, err)
	}
	return table, nil
}
