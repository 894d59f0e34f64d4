package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet/remote"
)

// TestMain ignores goroutines of client-go that end some seconds after the connection of a client.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("k8s.io/client-go/tools/remotecommand.(*heartbeat).start"),
		goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"),
	)
}

// onePod is the pod of the tests.
type onePod struct {
	container *kubelet.Container
	ports     map[int32]func(net.Conn)
}

// Container implements remote.Pod.
func (p *onePod) Container(name string) (remote.Container, error) {
	if name != "main" {
		return nil, errors.New("container not found (" + name + ")")
	}
	return p.container, nil
}

// Dial implements remote.Pod.
func (p *onePod) Dial(port int32) (remote.Conn, error) {
	if serve, ok := p.ports[port]; ok {
		return kubelet.Connect(serve)
	}
	return nil, kubelet.RefusedError(port)
}

// fixture is a server with one pod, as an API server sees it.
type fixture struct {
	t       *testing.T
	pod     *onePod
	streams *remote.Server
	config  *rest.Config
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, pod: &onePod{container: kubelet.NewContainer("one", time.Now()), ports: map[int32]func(net.Conn){}}}
	f.streams = remote.NewServer(func(namespace, name, uid string) (remote.Pod, bool) {
		return f.pod, namespace == "shop" && name == "one" && (uid == "" || uid == "u")
	})
	mux := http.NewServeMux()
	f.streams.Register(mux)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(f.streams.Close)
	f.config = &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	return f
}

func (f *fixture) url(path string, query url.Values) *url.URL {
	f.t.Helper()
	parsed, err := url.Parse(f.config.Host + path + "?" + query.Encode())
	if err != nil {
		f.t.Fatal(err)
	}
	return parsed
}

// withoutClose is the protocol in which a client cannot close its input.
const withoutClose = "WebSocket v4"

// protocols are the protocols of exec and attach.
var protocols = map[string]func(*fixture, *url.URL) (remotecommand.Executor, error){
	"SPDY": func(f *fixture, at *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(f.config, http.MethodPost, at)
	},
	"WebSocket": func(f *fixture, at *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(f.config, http.MethodGet, at.String())
	},
	withoutClose: func(f *fixture, at *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutorForProtocols(f.config, http.MethodGet, at.String(), "v4.channel.k8s.io")
	},
}

// opener sends a request to a path.
type opener func(ctx context.Context, f *fixture, path string, options remotecommand.StreamOptions, command ...string) error

// each runs a test with each protocol.
func each(t *testing.T, test func(t *testing.T, open opener)) {
	t.Helper()
	for name, executorOf := range protocols {
		t.Run(name, func(t *testing.T) {
			test(t, func(ctx context.Context, f *fixture, path string, options remotecommand.StreamOptions, command ...string) error {
				query := url.Values{"command": command}
				for name, given := range map[string]bool{"input": options.Stdin != nil, "output": options.Stdout != nil, "error": options.Stderr != nil, "tty": options.Tty} {
					if given {
						query.Set(name, "1")
					}
				}
				executor, err := executorOf(f, f.url(path, query))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				return executor.StreamWithContext(ctx, options)
			})
		})
	}
}

func TestServer_Exec(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		f := newFixture(t)
		command := []string{"sh", "-c", "echo out; echo err >&2; exit 3"}
		for _, path := range []string{"/exec/shop/one/main", "/exec/shop/one/u/main"} {
			var out, stderr bytes.Buffer
			err := open(t.Context(), f, path, remotecommand.StreamOptions{Stdout: &out, Stderr: &stderr}, command...)
			var exit exec.CodeExitError
			if !errors.As(err, &exit) || exit.Code != 3 || out.String() != "out\n" || stderr.String() != "err\n" {
				t.Errorf("%v, %q, %q", err, out.String(), stderr.String())
			}
		}
		if got := f.pod.container.Commands(); !slices.EqualFunc(got, [][]string{command, command}, slices.Equal) {
			t.Errorf("the commands are %q", got)
		}
	})
}

func TestServer_ExecOfAMissingProgram(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		err := open(t.Context(), newFixture(t), "/exec/shop/one/main", remotecommand.StreamOptions{Stdout: io.Discard}, "bash")
		if err == nil || !strings.Contains(err.Error(), `error executing command in container: failed to exec in container: failed to start exec "`) ||
			!strings.Contains(err.Error(), `exec: "bash": executable file not found in $PATH`) {
			t.Error(err)
		}
	})
}

func TestServer_ExecSendsMuchInBothDirections(t *testing.T) {
	content := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	each(t, func(t *testing.T, open opener) {
		if strings.HasSuffix(t.Name(), strings.ReplaceAll(withoutClose, " ", "_")) {
			t.Skip("the command would wait for the end of its input")
		}
		var out bytes.Buffer
		options := remotecommand.StreamOptions{Stdin: strings.NewReader(content), Stdout: &out}
		if err := open(t.Context(), newFixture(t), "/exec/shop/one/main", options, "cat"); err != nil || out.String() != content {
			t.Errorf("%v, %d bytes", err, out.Len())
		}
	})
}

func TestServer_ExecHasATerminal(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		shown, screen := io.Pipe()
		keys, input := io.Pipe()
		sizes := make(sizeQueue, 2)
		sizes <- remotecommand.TerminalSize{Width: 132, Height: 43}
		ended := make(chan error, 1)
		f := newFixture(t)
		go func() {
			ended <- open(t.Context(), f, "/exec/shop/one/main", remotecommand.StreamOptions{Stdin: keys, Stdout: screen, Tty: true, TerminalSizeQueue: sizes}, "sh")
			_ = screen.Close()
		}()
		for _, step := range []struct{ keys, shown string }{
			{"", "/ # "},
			{"tty\r", "tty\r\n/dev/pts/0\r\n/ # "},
			{"cat\r\x03", "cat\r\n^C\r\n/ # "},
		} {
			press(t, input, step.keys)
			readUntil(t, shown, step.shown)
		}
		untilSize(t, input, shown, "43 132")
		sizes <- remotecommand.TerminalSize{Width: 80, Height: 24}
		untilSize(t, input, shown, "24 80")
		close(sizes)
		press(t, input, "exit 4\r")
		readUntil(t, shown, "exit 4\r\n")
		var exit exec.CodeExitError
		if err := <-ended; !errors.As(err, &exit) || exit.Code != 4 {
			t.Error(err)
		}
		_ = input.Close()
	})
}

// sizeQueue implements remotecommand.TerminalSizeQueue.
type sizeQueue chan remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (q sizeQueue) Next() *remotecommand.TerminalSize {
	size, ok := <-q
	if !ok {
		return nil
	}
	return &size
}

func press(t *testing.T, input io.Writer, keys string) {
	t.Helper()
	if _, err := io.WriteString(input, keys); err != nil {
		t.Fatal(err)
	}
}

// readUntil reads until a text has been shown, and returns all that was read.
func readUntil(t *testing.T, shown io.Reader, text string) string {
	t.Helper()
	var read []byte
	for next := make([]byte, 1); !strings.HasSuffix(string(read), text); {
		if _, err := io.ReadFull(shown, next); err != nil {
			t.Fatalf("the terminal shows %q, and never %q: %v", read, text, err)
		}
		read = append(read, next...)
	}
	return string(read)
}

// until blocks until a condition holds, which is asked for again and again.
func until(t *testing.T, description string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s", description)
		}
	}
}

// untilSize asks for the size until it is the given one: sizes are sent apart from the keys.
func untilSize(t *testing.T, input io.Writer, shown io.Reader, size string) {
	t.Helper()
	for {
		press(t, input, "stty size\r")
		if strings.Contains(readUntil(t, shown, "/ # "), "\n"+size+"\r\n") {
			return
		}
	}
}

func TestServer_Attach(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		f := newFixture(t)
		log := &kubelet.Log{}
		log.Write("before\n")
		f.pod.container.SetLog(log)
		keys, input := io.Pipe()
		shown, screen := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- open(t.Context(), f, "/attach/shop/one/main", remotecommand.StreamOptions{Stdin: keys, Stdout: screen, Stderr: io.Discard})
		}()
		press(t, input, "typed\n")
		until(t, "its input is read, so that it is attached", func() bool { return f.pod.container.Input() == "typed\n" })
		log.WriteAt(time.Now(), "Stderr", "error\n")
		log.Write("after\n")
		if read := readUntil(t, shown, "\n"); read != "after\n" {
			t.Errorf("attached to %q", read)
		}
		log.End()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = input.Close()
	})
}

func TestServer_RejectsWhatDoesNotExist(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		f := newFixture(t)
		for path, want := range map[string]string{
			"/exec/shop/none/main":    "pod does not exist",
			"/exec/shop/one/old/main": "pod does not exist",
			"/exec/shop/one/none":     "container not found (none)",
			"/attach/shop/one/none":   "container not found (none)",
		} {
			if err := open(t.Context(), f, path, remotecommand.StreamOptions{Stdout: io.Discard}, "true"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if err := open(t.Context(), f, "/exec/shop/one/main", remotecommand.StreamOptions{}, "true"); err == nil {
			t.Error("a request without streams is accepted")
		}
	})
}

func TestServer_SessionsEndWithTheirClients(t *testing.T) {
	for _, command := range []string{"sleep infinity", "cat", "yes"} {
		t.Run(command, func(t *testing.T) {
			each(t, func(t *testing.T, open opener) {
				f := newFixture(t)
				ctx, cancel := context.WithCancel(t.Context())
				keys, input := io.Pipe()
				defer func() { _ = input.Close() }()
				options := remotecommand.StreamOptions{Stdin: keys, Stdout: cancelWriter(cancel)}
				if err := open(ctx, f, "/exec/shop/one/main", options, "sh", "-c", "echo running; "+command); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				until(t, "the session has ended", func() bool { return f.pod.container.Sessions() == 0 })
			})
		})
	}
}

// TestServer_CloseEndsSessions closes the server while a command and a connection to a port are in progress.
func TestServer_CloseEndsSessions(t *testing.T) {
	each(t, func(t *testing.T, open opener) {
		f := newFixture(t)
		closing := cancelWriter(func() { go f.streams.Close() })
		if err := open(t.Context(), f, "/exec/shop/one/main", remotecommand.StreamOptions{Stdout: closing}, "sh", "-c", "echo running; sleep infinity"); errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		f.streams.Close()
		if sessions := f.pod.container.Sessions(); sessions != 0 {
			t.Errorf("%d sessions", sessions)
		}
		if err := open(t.Context(), f, "/exec/shop/one/main", remotecommand.StreamOptions{Stdout: io.Discard}, "true"); err == nil {
			t.Error("a request after the end is accepted")
		}
	})
}

// cancelWriter calls a function when something is written.
type cancelWriter func()

// Write implements io.Writer.
func (w cancelWriter) Write(text []byte) (int, error) {
	w()
	return len(text), nil
}

// dialers are the protocols of port-forward.
var dialers = map[string]func(*fixture) (httpstream.Dialer, error){
	"SPDY": func(f *fixture) (httpstream.Dialer, error) {
		transport, upgrader, err := spdy.RoundTripperFor(f.config)
		return spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, f.url("/portForward/shop/one", nil)), err
	},
	"WebSocket": func(f *fixture) (httpstream.Dialer, error) {
		return portforward.NewSPDYOverWebsocketDialerForStreaming(f.url("/portForward/shop/one", nil), f.config)
	},
}

// forward forwards a port of the pod until the test ends, and returns the local address.
func (f *fixture) forward(name string, port string) (address string) {
	f.t.Helper()
	dialer, err := dialers[name](f)
	if err != nil {
		f.t.Fatal(err)
	}
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{":" + port}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		f.t.Fatal(err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	f.t.Cleanup(func() {
		close(stop)
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		f.t.Fatal(err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		f.t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))
}

func TestServer_PortForwardServesConnectionsAtOnce(t *testing.T) {
	for name := range dialers {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.pod.ports[7] = func(conn net.Conn) { _, _ = io.Copy(conn, conn) }
			address := f.forward(name, "7")
			var conns []net.Conn
			for range 2 {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				conns = append(conns, conn)
			}
			for round := range 3 {
				for i, conn := range slices.Backward(conns) {
					line := fmt.Sprintf("%d of %d\n", round, i)
					press(t, conn, line)
					if got := readUntil(t, conn, "\n"); got != line {
						t.Errorf("got %q, want %q", got, line)
					}
				}
			}
		})
	}
}

// TestServer_PortForwardClosesOneDirection lets the client close its part first: the pod's response follows.
func TestServer_PortForwardClosesOneDirection(t *testing.T) {
	for name := range dialers {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.pod.ports[7] = func(conn net.Conn) {
				received, _ := io.ReadAll(conn)
				_, _ = fmt.Fprintf(conn, "%d bytes", len(received))
			}
			address := f.forward(name, "7")
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			press(t, conn, strings.Repeat("x", 1<<20))
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if response, err := io.ReadAll(conn); err != nil || string(response) != "1048576 bytes" {
				t.Errorf("%q, %v", response, err)
			}
		})
	}
}

func TestServer_PortForwardServesHTTP(t *testing.T) {
	for name := range dialers {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.pod.ports[80] = kubelet.ServeHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
			address := f.forward(name, "80")
			for _, path := range []string{"/a", "/b"} {
				response, err := http.Get("http://" + address + path)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(response.Body); err != nil || string(body) != path {
					t.Errorf("%q, %v", body, err)
				}
				_ = response.Body.Close()
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

func TestServer_PortForwardToAClosedPort(t *testing.T) {
	for name, dialerOf := range dialers {
		t.Run(name, func(t *testing.T) {
			dialer, err := dialerOf(newFixture(t))
			if err != nil {
				t.Fatal(err)
			}
			conn, _, err := dialer.Dial("portforward.k8s.io")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			var failures httpstream.Stream
			for _, kind := range []string{"data", "error"} {
				stream, err := conn.CreateStream(http.Header{"streamType": {kind}, "port": {"9"}, "requestID": {"0"}})
				if err != nil {
					t.Fatal(err)
				}
				failures = stream
			}
			failure, _ := io.ReadAll(failures) // the stream is reset after the message
			if want := "error forwarding port 9 to pod one, uid : failed to connect to localhost:9"; !strings.HasPrefix(string(failure), want) {
				t.Errorf("the error is %q", failure)
			}
		})
	}
}
