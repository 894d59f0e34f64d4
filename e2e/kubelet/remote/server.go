package remote

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	upgradeproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
)

// WebSocketFeature is what a node declares in its status if its kubelet accepts all WebSocket protocols of clients.
const WebSocketFeature = "ExtendWebSocketsToKubelet"

// The timeouts of a kubelet.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = remotecommand.DefaultStreamCreationTimeout
)

// Lookup returns a pod. The UID is empty if the request does not have it.
type Lookup func(namespace, name, uid string) (pod Pod, exists bool)

// Pod is a pod of a node.
type Pod interface {
	// Container returns a container that runs, or why it does not. The error is sent as the response.
	Container(name string) (Container, error)
	// Dial connects to a port of the pod.
	Dial(port int32) (Conn, error)
}

// Container is a container that runs. Both methods return an error of type [process.ExitError] for an exit code, and
// any other error if there is no process. Both end when ctx is done.
type Container interface {
	Exec(ctx context.Context, command []string, stdio process.Stdio) error
	Attach(ctx context.Context, stdio process.Stdio) error
}

// Conn is a connection of which one direction can be closed.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// Server serves the requests to one kubelet. Its methods are safe for concurrent use.
type Server struct {
	lookup   Lookup
	self     *http.Transport // connects to this server itself
	sessions sessions
}

// NewServer returns a server, which must be closed.
func NewServer(lookup Lookup) *Server {
	self := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the certificate is that of a test server
	return &Server{lookup: lookup, self: self, sessions: sessions{open: map[*session]struct{}{}}}
}

// Close ends all sessions and waits for them. Requests after Close are rejected.
func (s *Server) Close() {
	s.sessions.close()
	s.self.CloseIdleConnections()
}

// Register adds the endpoints.
func (s *Server) Register(mux *http.ServeMux) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, pod := range []string{"/{namespace}/{pod}", "/{namespace}/{pod}/{uid}"} {
			mux.HandleFunc(method+" /exec"+pod+"/{container}", s.inSession(s.serveExec))
			mux.HandleFunc(method+" /attach"+pod+"/{container}", s.inSession(s.serveAttach))
			mux.HandleFunc(method+" /portForward"+pod, s.inSession(s.servePortForward))
		}
	}
}

// inSession returns a handler whose connection ends with the server, and whose context ends with the connection.
func (s *Server) inSession(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, session, ok := s.sessions.begin(r.Context())
		if !ok {
			http.Error(w, "the kubelet is shutting down", http.StatusServiceUnavailable)
			return
		}
		defer s.sessions.end(session)
		serve(&sessionWriter{ResponseWriter: w, session: session}, r.WithContext(ctx))
	}
}

func (s *Server) serveExec(w http.ResponseWriter, r *http.Request) {
	container, options, ok := s.containerOf(w, r)
	switch {
	case !ok:
	case wsstream.IsWebSocketRequestWithStreamCloseProtocol(r):
		s.translate(w, r, options)
	default:
		command := r.URL.Query()["command"]
		runner := newRunner(func(stdio process.Stdio) error { return container.Exec(r.Context(), command, stdio) })
		defer runner.input.Wait()
		remotecommand.ServeExec(w, r, runner, "", "", "", command, options,
			idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

func (s *Server) serveAttach(w http.ResponseWriter, r *http.Request) {
	container, options, ok := s.containerOf(w, r)
	switch {
	case !ok:
	case wsstream.IsWebSocketRequestWithStreamCloseProtocol(r):
		s.translate(w, r, options)
	default:
		runner := newRunner(func(stdio process.Stdio) error { return container.Attach(r.Context(), stdio) })
		defer runner.input.Wait()
		remotecommand.ServeAttach(w, r, runner, "", "", "", options,
			idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

func (s *Server) servePortForward(w http.ResponseWriter, r *http.Request) {
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	if wsstream.IsWebSocketRequestWithTunnelingProtocol(r) {
		onward := upgradeproxy.NewUpgradeAwareHandler(ownURL(r), s.self, false, true, responder{})
		proxy.NewTunnelingHandler(onward).ServeHTTP(w, r)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	forward := forwarder(func(port int32, stream io.ReadWriteCloser) error { return s.forward(r.Context(), pod, port, stream) })
	portforward.ServePortForward(w, r, forward, r.PathValue("pod"), "", options,
		idleTimeout, creationTimeout, portforward.SupportedProtocols)
}

// translate serves a protocol that container runtimes do not have: as a client of this server itself, by SPDY.
func (s *Server) translate(w http.ResponseWriter, r *http.Request, options *remotecommand.Options) {
	streams := proxy.Options{Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY}
	proxy.NewStreamTranslatorHandler(ownURL(r), s.self, 0, streams).ServeHTTP(w, r)
}

// ownURL returns the URL of a request at the address where this server accepted it.
func ownURL(r *http.Request) *url.URL {
	own := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}
	if r.TLS != nil {
		own.Scheme = "https"
	}
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		own.Host = address.String()
	}
	return &own
}

// podOf returns the pod of a request. Otherwise it sends the response of a kubelet.
func (s *Server) podOf(w http.ResponseWriter, r *http.Request) (Pod, bool) {
	pod, exists := s.lookup(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("uid"))
	if !exists {
		http.Error(w, "pod does not exist", http.StatusNotFound)
	}
	return pod, exists
}

// containerOf returns the container of a request, and its options. Otherwise it sends the response of a kubelet.
func (s *Server) containerOf(w http.ResponseWriter, r *http.Request) (Container, *remotecommand.Options, bool) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil, false
	}
	pod, exists := s.podOf(w, r)
	if !exists {
		return nil, nil, false
	}
	container, err := pod.Container(r.PathValue("container"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil, nil, false
	}
	return container, options, true
}

// responder sends errors of a proxy.
type responder struct{}

// Error implements upgradeproxy.ErrorResponder.
func (responder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
