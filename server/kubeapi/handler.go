package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"connectrpc.com/connect/v2"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
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
	if isFromOtherSite(r, h.config.Origins) {
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
	if r.Method == http.MethodGet && p.isOnObjects() && auth.ImpersonationOf(r) == nil {
		err = h.serveCached(ctx, w, r, p)
	}
	if errors.Is(err, errPassOn) {
		err = h.passOn(w, r, p, resource)
	}
	return err
}

// passOn passes a request on. A stream ends when the caller loses the permission that it began with.
func (h *Handler) passOn(w http.ResponseWriter, r *http.Request, p request, resource informerhub.Resource) error {
	ctx := r.Context()
	if p.streamType() == connect.StreamTypeUnary || p.verb == "" || resource.Name == "" || auth.ImpersonationOf(r) != nil {
		return h.forward.serve(ctx, w, r, p)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	lease := h.config.Leases.GrantUnreviewed(ctx, access.ToConnect(resource, p.verb, p.namespace, p.name, p.subresource))
	var keeping sync.WaitGroup
	keeping.Go(func() { cancel(lease.Keep(ctx)) })
	defer keeping.Wait()
	defer cancel(nil)
	return h.forward.serve(ctx, w, r, p)
}

// serveCached serves a read from the cache, or returns errPassOn.
func (h *Handler) serveCached(ctx context.Context, w http.ResponseWriter, r *http.Request, p request) error {
	if p.verb == "watch" {
		return h.watch(ctx, w, r, p)
	}
	ctx, memory := h.config.Responses.Begin(ctx)
	defer memory.Release()
	if p.verb == "get" {
		return h.get(ctx, w, r, p)
	}
	return h.list(ctx, w, r, p)
}

// cached returns what a read of a collection or of an object asks for, if the service caches it. Everything that the API server would
// reject is passed on, so that its own error is returned.
func (h *Handler) cached(ctx context.Context, p request) (read cachedRead, err error) {
	for name := range p.query {
		if !slices.Contains(knownParameters, name) {
			return read, errPassOn
		}
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(p.query, metav1.SchemeGroupVersion, &read.options); err != nil {
		return read, errPassOn
	}
	internalversion.SetListOptionsDefaults(&read.options, true)
	if len(validation.ValidateListOptions(&read.options, true)) > 0 {
		return read, errPassOn
	}
	if read.resource, err = h.config.Targets.Resolve(ctx, p.resourceName()); err != nil {
		return read, passOnUnlessDone(ctx, err)
	}
	if read.resource.Group != p.group || read.resource.Version != p.version || read.resource.Name != p.resource {
		return read, errPassOn
	}
	if p.namespace != "" && !read.resource.Namespaced {
		return read, errPassOn
	}
	if read.resource, err = h.config.Targets.CachedIn(ctx, read.resource, p.namespace); err != nil || !read.resource.Cacheable() {
		return read, passOnUnlessDone(ctx, errPassOn)
	}
	return read, nil
}

// knownParameters are the parameters of reads.
var knownParameters = []string{
	"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch", "allowWatchBookmarks",
	"sendInitialEvents", "timeoutSeconds", "pretty", "fieldManager", "fieldValidation",
}

// Disabled is the handler of Kubernetes' API if it is off.
func Disabled(w http.ResponseWriter, r *http.Request) {
	writeStatus(w, r, apierror.Failure(metav1.StatusReasonNotFound, "this service does not serve Kubernetes' API (--kube-api off)"))
}

// isFromOtherSite reports whether a page of another site has sent a request. Browsers send the origin with every WebSocket.
func isFromOtherSite(r *http.Request, allowed []string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(allowed, origin) {
		return false
	}
	from, err := url.Parse(origin)
	return err != nil || from.Host != r.Host || origins.IsCrossSite(r)
}
