package kubeapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// forwarder passes requests on to the API server as the caller, unchanged both ways. Its methods are safe for concurrent use.
type forwarder struct {
	host    *url.URL
	clients *auth.ClientFactory
}

func newForwarder(clients *auth.ClientFactory) *forwarder {
	return &forwarder{clients.Host(), clients}
}

// writtenError is the error of a request whose response has been written completely, such as an error of the API server.
type writtenError struct{ error }

// Unwrap returns the error.
func (e *writtenError) Unwrap() error { return e.error }

// serve passes a request on. It returns an error if no response was written.
func (f *forwarder) serve(ctx context.Context, w http.ResponseWriter, r *http.Request, p request) error {
	identity := call.IdentityFrom(ctx)
	isUpgrade := r.Header.Get("Upgrade") != ""
	transport, err := f.clients.Passing(identity, auth.ImpersonationOf(r), isUpgrade)
	if err != nil {
		return err
	}
	if p.isUpload || isUpgrade {
		call.NoteSent(ctx)
		defer logConnection(ctx, r, p, time.Now())
	} else if p.verb != "" && !p.isRead(r.Method) {
		call.NoteSent(ctx)
	}
	var failure error
	proxy := httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		BufferPool:    copyBuffers,
		ErrorLog:      slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(f.host)
			out.Out.Host = f.host.Host
			stripHeaders(out.Out.Header)
		},
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode >= http.StatusBadRequest {
				failure = &writtenError{errorOf(response)}
			}
			settleHeaders(w.Header(), response.Header)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failure = unreachable(ctx, err) },
	}
	if isCut := isAborted(func() { proxy.ServeHTTP(w, r.WithContext(ctx)) }); isCut && failure == nil {
		failure = &begunError{cmp.Or(context.Cause(ctx), errCut)}
	}
	return failure
}

// errCut is the error of a response that the API server, or the client, has cut.
var errCut = apierror.Failure(metav1.StatusReasonServiceUnavailable, "the connection to the API server, or that of the client, was lost")

// isAborted reports whether a handler has aborted its response, by the panic that net/http has for that.
func isAborted(serve func()) (isAborted bool) {
	defer func() {
		if reason := recover(); reason == http.ErrAbortHandler {
			isAborted = true
		} else if reason != nil {
			panic(reason)
		}
	}()
	serve()
	return false
}

// copyBuffers are the buffers through which responses are passed on.
var copyBuffers = &bufferPool{sync.Pool{New: func() any { buffer := make([]byte, 32<<10); return &buffer }}}

// bufferPool implements httputil.BufferPool.
type bufferPool struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (p *bufferPool) Get() []byte { return *p.pool.Get().(*[]byte) }

// Put implements httputil.BufferPool.
func (p *bufferPool) Put(buffer []byte) { p.pool.Put(&buffer) }

// stripHeaders removes what only the service may send: the API server must know no caller but that of the transport. The
// transport removes credentials and impersonation itself.
func stripHeaders(header http.Header) {
	header.Del("Cookie")
	for name := range header {
		if strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" {
			header.Del(name)
		}
	}
}

// settleHeaders removes what both the service and the API server have set, from one of them.
func settleHeaders(own, response http.Header) {
	response.Del("Set-Cookie")
	response.Del("X-Content-Type-Options")
	own.Del("Cache-Control")
	if caching := response.Get("Cache-Control"); strings.Contains(caching, "public") {
		// Other callers of a proxy before the service may have other permissions.
		response.Set("Cache-Control", strings.Replace(caching, "public", "private", 1))
	}
}

// errorOf returns the error of a response, for the records. Its text is not read: it may quote an object.
func errorOf(response *http.Response) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(response.StatusCode), Message: "the API server has answered " + response.Status,
	}}
}

// unreachable returns the error of a request that the API server has not answered.
func unreachable(ctx context.Context, err error) error {
	var known apierrors.APIStatus
	switch {
	case errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return apierror.Failure(metav1.StatusReasonServiceUnavailable, "the API server cannot be reached: %v", err)
}

// logConnection logs a connection into a container, or through the API server, when it has ended.
func logConnection(ctx context.Context, r *http.Request, p request, began time.Time) {
	slog.Info("connection", "caller", call.IdentityFrom(ctx).Username, "subresource", p.subresource, "resource", p.resourceName(),
		"namespace", p.namespace, "name", p.name, "container", p.query.Get("container"), "source", r.RemoteAddr,
		"seconds", fmt.Sprintf("%.1f", time.Since(began).Seconds()))
}

// bearerProtocol is the beginning of the subprotocol by which pages send a token with a WebSocket.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// bearerOfWebSocket makes the token in a subprotocol of a WebSocket the token of the request, and removes the subprotocol.
func bearerOfWebSocket(r *http.Request) {
	if r.Header.Get("Authorization") != "" || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return
	}
	var protocols []string
	for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
		for _, protocol := range strings.Split(line, ",") {
			protocol = strings.TrimSpace(protocol)
			encoded, isBearer := strings.CutPrefix(protocol, bearerProtocol)
			if !isBearer {
				protocols = append(protocols, protocol)
				continue
			}
			token, err := base64.RawURLEncoding.DecodeString(encoded)
			if err == nil && utf8.Valid(token) && !strings.ContainsAny(string(token), "\r\n") {
				r.Header.Set("Authorization", "Bearer "+string(token))
			}
		}
	}
	if len(protocols) > 0 {
		r.Header.Set("Sec-Websocket-Protocol", strings.Join(protocols, ", "))
	} else {
		r.Header.Del("Sec-Websocket-Protocol")
	}
}
