package kubelet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// fixture is a pod with one container on a simulated kubelet.
type fixture struct {
	ctx       context.Context
	t         *testing.T
	kubelet   *kubelet.Kubelet
	namespace string
	log       *kubelet.Log
	container *kubelet.Container
}

func newFixture(t *testing.T, start func(testing.TB, kubernetes.Interface) *kubelet.Kubelet) *fixture {
	t.Helper()
	f := &fixture{ctx: kit.Deadline(t), t: t, log: &kubelet.Log{}}
	f.kubelet = start(t, kit.Cluster(t).Client)
	f.namespace = kit.NewNamespace(f.ctx, t, kit.Cluster(t))
	kit.StartPod(f.ctx, t, f.kubelet, f.namespace, "one", "main")
	kit.SetContainers(f.ctx, t, f.namespace, "one", kit.Running("main", 0))
	f.kubelet.Answer(f.namespace, "one", "main", f.log)
	f.container = f.kubelet.Container(f.namespace, "one", "main")
	return f
}

// request returns a request for a subresource of the pod.
func (f *fixture) request(subresource string) *rest.Request {
	return kit.Cluster(f.t).Client.CoreV1().RESTClient().Post().Namespace(f.namespace).Resource("pods").Name("one").SubResource(subresource)
}

// protocols are those of clients.
var protocols = []string{"SPDY", "WebSocket"}

// open sends a request for exec or attach.
func (f *fixture) open(protocol, subresource string, options remotecommand.StreamOptions, command ...string) error {
	f.t.Helper()
	request := f.request(subresource)
	if subresource == "exec" {
		request.VersionedParams(&corev1.PodExecOptions{
			Command: command, Stdin: options.Stdin != nil, Stdout: options.Stdout != nil, Stderr: options.Stderr != nil, TTY: options.Tty,
		}, scheme.ParameterCodec)
	} else {
		request.VersionedParams(&corev1.PodAttachOptions{
			Stdin: options.Stdin != nil, Stdout: options.Stdout != nil, Stderr: options.Stderr != nil, TTY: options.Tty,
		}, scheme.ParameterCodec)
	}
	config := kit.Cluster(f.t).Config
	executor, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, request.URL())
	if protocol == "WebSocket" {
		executor, err = remotecommand.NewWebSocketExecutor(config, http.MethodGet, request.URL().String())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return executor.StreamWithContext(f.ctx, options)
}

// each runs a test with each protocol of clients, and with kubelets before and after they accept all WebSockets.
func each(t *testing.T, test func(f *fixture, protocol string)) {
	t.Helper()
	for name, start := range map[string]func(testing.TB, kubernetes.Interface) *kubelet.Kubelet{
		"a kubelet before 1.36": kubelet.StartBefore136, "a kubelet": kubelet.Start,
	} {
		for _, protocol := range protocols {
			t.Run(protocol+" to "+name, func(t *testing.T) {
				f := newFixture(t, start)
				test(f, protocol)
				f.wantPassedOn(protocol == "WebSocket" && name == "a kubelet")
			})
		}
	}
}

// wantPassedOn fails the test unless the API server passed a WebSocket to the kubelet, or translated it.
func (f *fixture) wantPassedOn(want bool) {
	f.t.Helper()
	version, err := kit.Cluster(f.t).Client.ServerVersion()
	if err != nil {
		f.t.Fatal(err)
	}
	if minor, _ := strconv.Atoi(version.Minor); minor < 36 {
		want = false
	}
	upgrades := f.kubelet.Upgrades()
	if got := slices.Contains(upgrades, "websocket"); got != want || !slices.Contains(upgrades, "SPDY/3.1") {
		f.t.Errorf("the kubelet received %v", upgrades)
	}
}

func TestExec_ThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture, protocol string) {
		var out, stderr bytes.Buffer
		options := remotecommand.StreamOptions{Stdin: strings.NewReader("input\n"), Stdout: &out, Stderr: &stderr}
		err := f.open(protocol, "exec", options, "sh", "-c", "cat; echo error >&2; exit 3")
		var exit exec.CodeExitError
		if !errors.As(err, &exit) || exit.Code != 3 || out.String() != "input\n" || stderr.String() != "error\n" {
			f.t.Errorf("%v, %q, %q", err, out.String(), stderr.String())
		}
		err = f.open(protocol, "exec", remotecommand.StreamOptions{Stdout: io.Discard}, "bash")
		if err == nil || !strings.Contains(err.Error(), `exec: "bash": executable file not found in $PATH`) {
			f.t.Error(err)
		}
	})
}

func TestExec_HasATerminal(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture, protocol string) {
		shown, screen := io.Pipe()
		keys, input := io.Pipe()
		sizes := make(sizeQueue, 2)
		sizes <- remotecommand.TerminalSize{Width: 132, Height: 43}
		ended := make(chan error, 1)
		go func() {
			ended <- f.open(protocol, "exec", remotecommand.StreamOptions{Stdin: keys, Stdout: screen, Tty: true, TerminalSizeQueue: sizes}, "sh")
			_ = screen.Close()
		}()
		f.readUntil(shown, "/ # ")
		f.write(input, "sleep infinity\r")
		f.readUntil(shown, "sleep infinity\r\n")
		f.write(input, "\x03")
		f.readUntil(shown, "^C\r\n/ # ")
		f.untilSize(input, shown, "43 132")
		sizes <- remotecommand.TerminalSize{Width: 80, Height: 24}
		f.untilSize(input, shown, "24 80")
		close(sizes)
		f.write(input, "exit 4\r")
		f.readUntil(shown, "exit 4\r\n")
		var exit exec.CodeExitError
		if err := <-ended; !errors.As(err, &exit) || exit.Code != 4 {
			f.t.Error(err)
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

func (f *fixture) write(to io.Writer, text string) {
	f.t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		f.t.Fatal(err)
	}
}

// readUntil reads until a text was read, and returns all that was read.
func (f *fixture) readUntil(from io.Reader, text string) string {
	f.t.Helper()
	var read []byte
	for next := make([]byte, 1); !strings.HasSuffix(string(read), text); {
		if _, err := io.ReadFull(from, next); err != nil {
			f.t.Fatalf("read %q, and never %q: %v", read, text, err)
		}
		read = append(read, next...)
	}
	return string(read)
}

// untilSize asks for the size until it is the given one: sizes are sent apart from the keys.
func (f *fixture) untilSize(input io.Writer, shown io.Reader, size string) {
	f.t.Helper()
	kit.Eventually(f.ctx, f.t, "the terminal has another size", func() error {
		f.write(input, "stty size\r")
		if read := f.readUntil(shown, "/ # "); !strings.Contains(read, "\n"+size+"\r\n") {
			return fmt.Errorf("the size is %q", read)
		}
		return nil
	})
}

func TestAttach_ThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture, protocol string) {
		keys, input := io.Pipe()
		shown, screen := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- f.open(protocol, "attach", remotecommand.StreamOptions{Stdin: keys, Stdout: screen, Stderr: io.Discard})
		}()
		f.write(input, "typed\n")
		f.untilInput("typed\n")
		f.log.Write("written\n")
		f.readUntil(shown, "written\n")
		f.log.End()
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
		_ = input.Close()
	})
}

// untilInput blocks until the container has received a text from clients that attached.
func (f *fixture) untilInput(text string) {
	f.t.Helper()
	kit.Eventually(f.ctx, f.t, "the container has received its input", func() error {
		if input := f.container.Input(); input != text {
			return fmt.Errorf("it has received %q", input)
		}
		return nil
	})
}

func TestPortForward_ThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture, protocol string) {
		f.kubelet.Listen(f.namespace, "one", 7, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
		address := f.forward(protocol, "7")
		f.wantEchoes(address)
	})
}

// wantEchoes opens two connections at once, and fails the test unless each returns what is sent.
func (f *fixture) wantEchoes(address string) {
	f.t.Helper()
	var conns []net.Conn
	for range 2 {
		conn, err := new(net.Dialer).DialContext(f.ctx, "tcp", address)
		if err != nil {
			f.t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(f.ctx, func() { _ = conn.Close() })()
		conns = append(conns, conn)
	}
	for round := range 3 {
		for i, conn := range slices.Backward(conns) {
			line := fmt.Sprintf("%d of %d\n", round, i)
			f.write(conn, line)
			if got := f.readUntil(conn, "\n"); got != line {
				f.t.Errorf("got %q, want %q", got, line)
			}
		}
	}
}

// forward forwards a port of the pod until the test ends, and returns the local address.
func (f *fixture) forward(protocol, port string) (address string) {
	f.t.Helper()
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesForStreaming(f.dialer(protocol), []string{"127.0.0.1"}, []string{":" + port}, stop, ready, io.Discard, io.Discard)
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

func (f *fixture) dialer(protocol string) httpstream.Dialer {
	f.t.Helper()
	config, at := kit.Cluster(f.t).Config, f.request("portforward").URL()
	if protocol == "WebSocket" {
		dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, config)
		if err != nil {
			f.t.Fatal(err)
		}
		return dialer
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		f.t.Fatal(err)
	}
	return spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
}

// TestPortForward_ByAWebSocketForEachConnection uses the protocol of clients that have no SPDY: the first byte of a
// message is a channel, and the first message in each is the port.
func TestPortForward_ByAWebSocketForEachConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kubelet.Start)
	f.kubelet.Listen(f.namespace, "one", 7, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	config := kit.Cluster(t).Config
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	at := f.request("portforward").Param("ports", "7").URL()
	at.Scheme = "wss"
	settings, err := websocket.NewConfig(at.String(), config.Host)
	if err != nil {
		t.Fatal(err)
	}
	settings.Protocol, settings.TlsConfig = []string{"v4.channel.k8s.io"}, tlsConfig
	conn, err := settings.DialContext(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(f.ctx, func() { _ = conn.Close() })()
	for _, want := range []string{"\x00\x07\x00", "\x01\x07\x00"} {
		f.wantMessage(conn, want)
	}
	if err := websocket.Message.Send(conn, []byte("\x00hello")); err != nil {
		t.Fatal(err)
	}
	f.wantMessage(conn, "\x00hello")
}

func (f *fixture) wantMessage(conn *websocket.Conn, want string) {
	f.t.Helper()
	var message []byte
	if err := websocket.Message.Receive(conn, &message); err != nil || string(message) != want {
		f.t.Fatalf("received %q, %v; want %q", message, err, want)
	}
}
