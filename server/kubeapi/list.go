package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

const (
	// newestTimeout is the time after which a read of the newest state is passed on.
	newestTimeout = 500 * time.Millisecond
	// listBytes is the size of the pieces in which a list is written.
	listBytes = 256 << 10
)

// errPassOn reports that a request is passed on to the API server. It is never returned to callers.
var errPassOn = errors.New("the request is passed on")

// list writes a list from the cache, or returns errPassOn.
func (h *Handler) list(ctx context.Context, w http.ResponseWriter, r *http.Request, p request) error {
	read, err := h.cached(ctx, p)
	if err != nil {
		return err
	}
	of, ok := negotiate(r, read.resource, true)
	if !ok {
		return errPassOn
	}
	options := read.options
	if options.ResourceVersion == "0" {
		options.Limit = 0 // as at the API server
	}
	scope, err := h.config.Permissions.Scope(ctx, call.IdentityFrom(ctx), access.ToList(read.resource, p.namespace, read.fieldSelector()).Requiring(true))
	if err != nil {
		return err
	}
	cache, err := h.cacheFor(ctx, access.ToList(read.resource, p.namespace, ""), scope)
	if err != nil {
		return err
	}
	selection, err := cache.Select(ctx, informerhub.Query{
		Namespace: p.namespace, LabelSelector: read.labelSelector(), FieldSelector: read.fieldSelector(),
	})
	if err != nil {
		return errPassOn // the API server says what is wrong
	}
	page, err := h.page(ctx, cache, selection, p.namespace, options)
	if err != nil {
		return err
	}
	page.recheck = func() error {
		_, err := h.config.Permissions.Scope(ctx, call.IdentityFrom(ctx), access.ToList(read.resource, p.namespace, read.fieldSelector()).Requiring(true))
		return err
	}
	return h.writeList(ctx, w, r, encoder{read.resource, of}, page)
}

// page is a page of a list.
type page struct {
	objects []*informerhub.Object
	meta    listMeta
	recheck func() error // returns why the caller can no longer read it
}

// recheckInterval is the interval at which the permission for a list is checked again while the client reads it.
const recheckInterval = 10 * time.Second

// page returns the page of a list that the options name.
func (h *Handler) page(
	ctx context.Context, cache *informerhub.Cache, selection *informerhub.Selection, namespace string, options internalversion.ListOptions,
) (page, error) {
	snapshot, start, err := h.snapshot(ctx, cache, selection, options)
	if err != nil {
		return page{}, err
	}
	objects, version := snapshot.Objects, snapshot.ResourceVersion
	if options.Limit <= 0 && start == "" {
		return page{objects: inKeyOrder(objects), meta: listMeta{version: version}}, nil
	}

	// The objects of a page that is not the only one are those at the version of the token.
	if start == "" && int64(len(objects)) > options.Limit {
		version = snapshot.Position.Version
		if snapshot, err = cache.ListAt(ctx, selection, informerhub.Position{Version: version}); err != nil {
			return page{}, errPassOn
		}
		objects = snapshot.Objects
	}
	objects = inKeyOrder(objects)
	first := sort.Search(len(objects), func(i int) bool { return keyIn(objects[i], namespace) >= start })
	objects = objects[first:]
	of := page{objects: objects, meta: listMeta{version: version}}
	if options.Limit > 0 && int64(len(objects)) > options.Limit {
		of.objects = objects[:options.Limit]
		token, ok := tokenBehind(of.objects[len(of.objects)-1], version, namespace)
		if !ok {
			return page{}, errPassOn
		}
		of.meta.next = token
		if isEmpty(options) {
			left := int64(len(objects)) - options.Limit
			of.meta.remaining = &left
		}
	}
	return of, nil
}

// isOfOneName reports whether a list selects the object of one name.
func isOfOneName(options internalversion.ListOptions) bool {
	if options.FieldSelector == nil {
		return false
	}
	_, ok := options.FieldSelector.RequiresExactMatch("metadata.name")
	return ok
}

// isEmpty reports whether a list has no selector. The API server counts the remaining objects only then.
func isEmpty(options internalversion.ListOptions) bool {
	return (options.LabelSelector == nil || options.LabelSelector.Empty()) && (options.FieldSelector == nil || options.FieldSelector.Empty())
}

// snapshot returns the objects of a list at the version that its options require, and the key that the page starts at. The version
// of the snapshot is at least that of the request. It returns errPassOn if only the API server has it.
func (h *Handler) snapshot(
	ctx context.Context, cache *informerhub.Cache, selection *informerhub.Selection, options internalversion.ListOptions,
) (snapshot informerhub.Snapshot, start string, err error) {
	version, exact := options.ResourceVersion, false
	switch {
	case options.Continue != "":
		var ok bool
		if version, start, ok = readToken(options.Continue); !ok {
			return snapshot, "", errPassOn
		}
		exact = true
	case version == "":
		if version, err = newest(ctx, cache, newestTimeout); err != nil {
			return snapshot, "", err
		}
	case version == "0":
		version = ""
	case options.ResourceVersionMatch == metav1.ResourceVersionMatchExact, options.ResourceVersionMatch == "" && options.Limit > 0:
		exact = true
	}
	if exact && isOfOneName(options) {
		return snapshot, "", errPassOn // the API server reads one object, at any version
	}
	if version != "" {
		if err := await(ctx, cache, version); err != nil {
			return snapshot, "", err
		}
	}
	if exact {
		snapshot, err = cache.ListAt(ctx, selection, informerhub.Position{Version: version})
		snapshot.ResourceVersion = version
	} else {
		snapshot, err = cache.List(ctx, selection)
		if object.Older(snapshot.ResourceVersion, version) {
			snapshot.ResourceVersion = version
		}
	}
	return snapshot, start, passOnUnlessDone(ctx, err)
}

// newest returns the API server's current version, or errPassOn if it does not answer in time.
func newest(ctx context.Context, cache *informerhub.Cache, timeout time.Duration) (string, error) {
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	version, err := cache.Newest(asking)
	return version, passOnUnlessDone(ctx, err)
}

// await waits until the cache has a version. It returns errPassOn if the changes of the resource do not show that soon.
func await(ctx context.Context, cache *informerhub.Cache, version string) error {
	reached, err := cache.AwaitChanges(ctx, version, newestTimeout)
	if err == nil && !reached {
		err = errPassOn
	}
	return passOnUnlessDone(ctx, err)
}

// passOnUnlessDone returns errPassOn for an error, unless the client has disconnected.
func passOnUnlessDone(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return errPassOn
	}
	return nil
}

// sortRuns sorts runs of objects of one namespace each by their keys.
func sortRuns(runs [][]*informerhub.Object) {
	slices.SortFunc(runs, func(a, b []*informerhub.Object) int {
		return strings.Compare(a[0].Namespace()+"/", b[0].Namespace()+"/")
	})
}

// writeList writes a page in pieces. The objects themselves are the cache's, and only pointers to them are reserved.
func (h *Handler) writeList(ctx context.Context, w http.ResponseWriter, r *http.Request, e encoder, of page) error {
	if err := budget.ReserveResponse(ctx, 2*listBytes+8*len(of.objects)); err != nil {
		return err
	}
	call.NoteObjects(ctx, len(of.objects))
	isLong := budget.IsLong(of.objects)
	length, err := e.itemBytes(of.objects)
	if err != nil {
		return errPassOn
	}
	body := newBody(w, r, e.form.contentType(false), h.config.Gzip && sizeOf(of.objects) >= minGzipBytes)
	defer func() { _ = body.close() }()
	piece := e.appendListBegin(make([]byte, 0, listBytes+listBytes/4), of.meta, length)
	checked := time.Now()
	for written := 0; ; {
		if time.Since(checked) > recheckInterval {
			if err := of.recheck(); err != nil {
				return body.failed(err)
			}
			checked = time.Now()
		}
		// A piece is encoded in a processor slot, and written without one: the client may read slowly.
		count, err := budget.InSlotIf(ctx, isLong, func(ctx context.Context) (count int, err error) {
			piece, count, err = e.appendPiece(ctx, piece, of.objects, written)
			return count, err
		})
		if written += count; err == nil && written == len(of.objects) {
			piece = append(piece, e.listEnd(written)...)
		}
		if err == nil {
			err = body.write(piece)
		}
		switch {
		case err != nil:
			return body.failed(err)
		case written == len(of.objects):
			return body.close()
		}
		piece = piece[:0]
	}
}

// appendPiece appends the items from an index on, until there are listBytes, and returns their number.
func (e encoder) appendPiece(ctx context.Context, dst []byte, objects []*informerhub.Object, from int) ([]byte, int, error) {
	for i := from; i < len(objects); i++ {
		if err := budget.YieldEvery(ctx, i-from); err != nil {
			return dst, i - from, err
		}
		var err error
		if dst, err = e.appendItem(append(dst, e.separator(i)...), objects[i]); err != nil {
			return dst, i - from, err
		}
		if len(dst) >= listBytes {
			return dst, i + 1 - from, nil
		}
	}
	return dst, len(objects) - from, nil
}

func sizeOf(objects []*informerhub.Object) (size int) {
	for _, o := range objects {
		size += o.Size()
	}
	return size
}

// cachedRead is a read that the cache can answer.
type cachedRead struct {
	resource informerhub.Resource
	options  internalversion.ListOptions
}

func (r cachedRead) labelSelector() string {
	if r.options.LabelSelector == nil {
		return ""
	}
	return r.options.LabelSelector.String()
}

func (r cachedRead) fieldSelector() string {
	if r.options.FieldSelector == nil {
		return ""
	}
	return r.options.FieldSelector.String()
}

// cacheFor returns the cache of a read that the caller has the permission for, and errPassOn if the service has none of all that the
// read names.
func (h *Handler) cacheFor(ctx context.Context, read access.Request, scope auth.Namespaces) (*informerhub.Cache, error) {
	if !scope.All || scope.Selected != "" {
		return nil, errPassOn
	}
	cache, err := access.Cache(ctx, h.config.Hub, read, scope)
	return cache, passOnUnlessDone(ctx, err)
}
