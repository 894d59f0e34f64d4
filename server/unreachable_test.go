package server

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/auth"
)

// TestConnectError_NamesNoAddress has errors of net/http and net that have not been classified:
// callers get the kind of the failure, or the error that the request was rejected with.
func TestConnectError_NamesNoAddress(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 6443}, Err: syscall.ECONNREFUSED}
	request := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://10.1.2.3:6443/api/v1/pods", Err: err}
	}
	for name, test := range map[string]struct {
		err  error
		code connect.Code
		says string
	}{
		"a request that does not arrive": {request(dial), connect.CodeUnavailable, "the connection is refused"},
		"a connection alone":             {dial, connect.CodeUnavailable, "the connection is refused"},
		"an end of file":                 {request(errors.New("EOF from 10.1.2.3:6443")), connect.CodeUnavailable, "the connection fails"},
		"a request that is refused here": {request(apierrors.NewForbidden(podResource, "a", errors.New("no"))), connect.CodePermissionDenied, "forbidden: no"},
		"a caller who is nobody":         {request(auth.ErrUnauthenticated), connect.CodeUnauthenticated, "unauthenticated"},
		"a caller who has left":          {request(context.Canceled), connect.CodeCanceled, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			err := connectError(test.err)
			if text := err.Error() + detailOf(t, err).GetMessage(); strings.Contains(text, "10.1.2.3") || !strings.Contains(text, test.says) {
				t.Errorf("the caller gets %q", text)
			}
			if connect.CodeOf(err) != test.code {
				t.Errorf("the code is %s, want %s", connect.CodeOf(err), test.code)
			}
		})
	}
}

// TestUnreachable_RefusedByTheService has callers that the service cannot act as: the message is
// that of the error, without the request.
func TestUnreachable_RefusedByTheService(t *testing.T) {
	clients, err := auth.NewClientFactory(&rest.Config{Host: "http://10.1.2.3"}, NoteOutcome)
	if err != nil {
		t.Fatal(err)
	}
	dest := target{resource: podLogs, namespace: "default", name: "a"}
	_, err = writer{clients.For(auth.Identity{Username: "admin "})}.make(t.Context(), dest, deletion{})
	if err := connectError(err); connect.CodeOf(err) != connect.CodePermissionDenied || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("the caller gets %v", err)
	}
}
