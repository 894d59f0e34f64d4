package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/edge/origins"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// Mode is what is served.
type Mode string

// The modes.
const (
	Off  Mode = "off"
	Read Mode = "read" // nothing that changes objects, or that runs in a container
	All  Mode = "all"
)

// Config configures a handler. All fields but Gzip and Origins are required.
type Config struct {
	Mode        Mode
	Chain       *edge.Chain
	Hub         *informerhub.Hub
	Targets     *target.Resolver
	Permissions access.Permissions
	Leases      access.Leases
	Clients     *auth.ClientFactory
	Responses   *budget.Responses
	Streams     *streamlife.Streams
	Metrics     *observe.Metrics
	// Gzip compresses large responses for clients that accept it.
	Gzip bool
	// Origins are the other origins whose pages are allowed to call.
	Origins []string
}

// Handler serves Kubernetes' API. Its methods are safe for concurrent use.
type Handler struct {
	config  Config
	forward *forwarder
	sending budget.Messages // without a caller
}

// New returns a handler.
func New(config Config) *Handler {
	return &Handler{
		config:  config,
		forward: newForwarder(config.Clients),
		sending: budget.Messages{Queue: config.Metrics.Queue("kubernetes_stream_bytes", budget.NewMessageQueue())},
	}
}

// ServeHTTP implements http.Handler. Every request passes the gate of the chain.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bearerOfWebSocket(r)
	dropOfferOfHTTP2(r.Header)
	p := parse(r)
	plain := edge.Plain{
		Procedure: p.procedure(), Type: p.streamType(), Subject: p.subject(), Fail: fail,
		Serve: func(w http.ResponseWriter, r *http.Request) error { return h.serve(w, r, p) },
	}
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.config.Chain.ServePlain(w, r, plain) })
	if !p.isUpload {
		// A client that does not read keeps neither its call nor the API server's response.
		streamlife.CoalesceWrites(served, streamlife.WatchUnreadTimeout).ServeHTTP(w, r)
		return
	}
	served(w, r)
}

// fail writes an error, unless the response is written already.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	var begun *begunError
	var written *writtenError
	switch {
	case errors.As(err, &written):
	case errors.As(err, &begun):
		call.From(r.Context()).AbortResponse()
	default:
		writeStatus(w, r, err)
	}
}

// serve serves an admitted request: from the cache if it can, and otherwise by passing it on.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, p request) error {
	ctx := r.Context()
	if origins.IsForeign(r, h.config.Origins) {
		return apierror.Failure(metav1.StatusReasonForbidden, "a page of another site cannot call this service: its operator can allow an origin with --cors-origin")
	}
	if h.config.Mode != All && !p.isRead(r.Method) {
		return apierror.Failure(metav1.StatusReasonForbidden, "this service passes on no requests that change objects or run in containers (--kube-api %s)", h.config.Mode)
	}
	var resource informerhub.Resource // zero if the cluster does not serve it
	if p.resource != "" {
		resource, _ = h.config.Targets.Resolve(ctx, p.resourceName())
	}
	err := errPassOn
	// For a caller who asks to act as another user, the API server decides.
	if r.Method == http.MethodGet && p.isOnObjects() && !p.isUpload && auth.ImpersonationOf(r) == nil {
		err = h.serveCached(ctx, w, r, p, resource)
	}
	if errors.Is(err, errPassOn) {
		err = h.passOn(w, r, p, resource)
	}
	return err
}

// passedStreamBytes is what a stream that is passed on keeps for a client that does not read: what the API server can send ahead, and the
// buffers through which it is copied.
const passedStreamBytes = 256<<10 + 32<<10

// passOn passes a request on. A stream ends when the caller loses the permission that it began with.
func (h *Handler) passOn(w http.ResponseWriter, r *http.Request, p request, resource informerhub.Resource) error {
	ctx := r.Context()
	if p.streamType() == connect.StreamTypeUnary {
		return h.forward.serve(ctx, w, r, p)
	}
	if err := ledger.Hold(ctx, passedStreamBytes); err != nil {
		return err
	}
	if p.verb == "" || resource.Name == "" || auth.ImpersonationOf(r) != nil {
		return h.forward.serve(ctx, w, r, p)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	permission := access.ToConnect(resource, p.verb, p.namespace, p.name, p.subresource)
	if p.isWatch && p.name == "" { // a selected name is a part of the permission, as at the API server
		permission = access.ToWatchAlone(resource, p.namespace, p.query.Get("fieldSelector"))
		permission.Live = true
	}
	lease := h.config.Leases.GrantUnreviewed(ctx, permission)
	var keeping sync.WaitGroup
	keeping.Go(func() { cancel(lease.Keep(ctx)) })
	defer keeping.Wait()
	defer cancel(nil)
	return h.forward.serve(ctx, w, r, p)
}

// serveCached serves a read of a resource from the cache, or returns errPassOn.
func (h *Handler) serveCached(ctx context.Context, w http.ResponseWriter, r *http.Request, p request, resource informerhub.Resource) error {
	if p.verb == "get" && p.query.Get("resourceVersion") == "" {
		return errPassOn // to ask for the newest version takes the API server as long as to send the object
	}
	read, err := h.read(ctx, r, p, resource)
	if err != nil {
		return err
	}
	if p.verb == "watch" {
		return h.watch(ctx, w, read)
	}
	ctx, memory := h.config.Responses.Begin(ctx)
	defer memory.Release()
	if p.verb == "get" {
		return h.get(ctx, w, r, read)
	}
	return h.list(ctx, w, r, read)
}

// Disabled is the handler of Kubernetes' API if it is off.
func Disabled(w http.ResponseWriter, r *http.Request) {
	writeStatus(w, r, apierror.Failure(metav1.StatusReasonNotFound, "this service does not serve Kubernetes' API (--kube-api off)"))
}
