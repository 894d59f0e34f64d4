package kubeapi

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// get writes one object from the cache, or returns errPassOn.
func (h *Handler) get(ctx context.Context, w http.ResponseWriter, r *http.Request, read cachedRead) error {
	permission := access.ToGet(read.resource, read.namespace, read.name)
	scope, err := h.config.Permissions.Scope(ctx, call.IdentityFrom(ctx), permission)
	if err != nil {
		return err
	}
	cache, err := h.cacheFor(ctx, permission, scope)
	if err != nil {
		return err
	}
	if read.options.ResourceVersion != "0" {
		if err := await(ctx, cache, read.options.ResourceVersion); err != nil {
			return err
		}
	}
	found, err := cache.Get(read.namespace, read.name)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return errPassOn
	}
	if err := budget.ReserveResponse(ctx, 2*found.Size()); err != nil {
		return err
	}
	encoded, err := read.encoder().appendObject(nil, found)
	if err != nil {
		return errPassOn
	}
	if !read.form.protobuf {
		encoded = append(encoded, '\n')
	}
	call.NoteObjects(ctx, 1)
	body := newBody(w, r, read.form.contentType(false), h.config.Gzip && len(encoded) >= minGzipBytes)
	defer func() { _ = body.close() }()
	if err := body.write(encoded); err != nil {
		return body.failed(err)
	}
	return body.close()
}
