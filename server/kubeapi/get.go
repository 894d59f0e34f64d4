package kubeapi

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// get writes one object from the cache, or returns errPassOn. A read of the newest state is passed on: to ask for the version takes the
// API server as long as to send the object.
func (h *Handler) get(ctx context.Context, w http.ResponseWriter, r *http.Request, p request) error {
	version := p.query.Get("resourceVersion")
	if version == "" {
		return errPassOn
	}
	read, err := h.cached(ctx, p)
	if err != nil {
		return err
	}
	of, ok := negotiate(r, read.resource, false)
	if !ok || (p.namespace != "") != read.resource.Namespaced {
		return errPassOn
	}
	request := access.ToGet(read.resource, p.namespace, p.name)
	scope, err := h.config.Permissions.Scope(ctx, call.IdentityFrom(ctx), request)
	if err != nil {
		return err
	}
	cache, err := h.cacheFor(ctx, request, scope)
	if err != nil {
		return err
	}
	if version != "0" {
		if err := await(ctx, cache, version); err != nil {
			return err
		}
	}
	found, err := cache.Get(p.namespace, p.name)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return errPassOn
	}
	if err := budget.ReserveResponse(ctx, 2*found.Size()); err != nil {
		return err
	}
	e := encoder{read.resource, of}
	encoded, err := e.appendObject(nil, found)
	if err != nil {
		return errPassOn
	}
	if !of.protobuf {
		encoded = append(encoded, '\n')
	}
	call.NoteObjects(ctx, 1)
	body := newBody(w, r, of.contentType(false), h.config.Gzip && len(encoded) >= minGzipBytes)
	defer func() { _ = body.close() }()
	if err := body.write(encoded); err != nil {
		return body.failed(err)
	}
	return body.close()
}
