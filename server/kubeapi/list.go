package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
func (h *Handler) list(ctx context.Context, w http.ResponseWriter, r *http.Request, read cachedRead) error {
	if read.options.ResourceVersion == "0" {
		read.options.Limit = 0 // as at the API server
	}
	permission := access.ToList(read.resource, read.namespace, read.fieldSelector()).Requiring(true)
	scope, err := h.config.Permissions.Scope(ctx, call.IdentityFrom(ctx), permission)
	if err != nil {
		return err
	}
	cache, selection, err := h.open(ctx, read, permission, scope)
	if err != nil {
		return err
	}
	page, err := pageOf(ctx, cache, selection, read)
	if err != nil {
		return err
	}
	page.recheck = func() error {
		_, err := h.config.Permissions.Scope(ctx, call.IdentityFrom(ctx), permission)
		return err
	}
	return h.writeList(ctx, w, r, read.encoder(), page)
}

// page is a page of a list.
type page struct {
	objects []*informerhub.Object
	meta    listMeta
	recheck func() error // returns why the caller can no longer read it
}

// recheckInterval is the interval at which the permission for a list is checked again while the client reads it.
const recheckInterval = 10 * time.Second

// pageOf returns the page of a list that a read names.
func pageOf(ctx context.Context, cache *informerhub.Cache, selection *informerhub.Selection, read cachedRead) (page, error) {
	limit := read.options.Limit
	snapshot, start, err := snapshotOf(ctx, cache, selection, read)
	if err != nil {
		return page{}, err
	}
	objects, version := snapshot.Objects, snapshot.ResourceVersion
	if limit <= 0 && start == "" {
		return page{objects: inKeyOrder(objects), meta: listMeta{version: version}}, nil
	}

	// The objects of a page that is not the only one are those at the version of the token.
	if start == "" && int64(len(objects)) > limit {
		version = snapshot.Position.Version
		if snapshot, err = cache.ListAt(ctx, selection, informerhub.Position{Version: version}); err != nil {
			return page{}, errPassOn
		}
		objects = snapshot.Objects
	}
	objects = inKeyOrder(objects)
	first := sort.Search(len(objects), func(i int) bool { return keyIn(objects[i], read.namespace) >= start })
	objects = objects[first:]
	of := page{objects: objects, meta: listMeta{version: version}}
	if limit > 0 && int64(len(objects)) > limit {
		of.objects = objects[:limit]
		token, ok := tokenBehind(of.objects[len(of.objects)-1], version, read.namespace)
		if !ok {
			return page{}, errPassOn
		}
		of.meta.next = token
		if !read.hasSelector() {
			left := int64(len(objects)) - limit
			of.meta.remaining = &left
		}
	}
	return of, nil
}

// snapshotOf returns the objects of a list at the version that its options require, and the key that the page starts at. The version
// of the snapshot is at least that of the request. It returns errPassOn if only the API server has it.
func snapshotOf(
	ctx context.Context, cache *informerhub.Cache, selection *informerhub.Selection, read cachedRead,
) (snapshot informerhub.Snapshot, start string, err error) {
	options := read.options
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
	if exact && read.isOfOneName() {
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
