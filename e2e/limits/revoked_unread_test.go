package limits_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

const (
	// unreadSecrets Secrets of unreadSize bytes are a snapshot of 8 MB.
	unreadSecrets = 2_000
	unreadSize    = 4 << 10
	// unreadWindow is the flow-control window of a client, in bytes.
	unreadWindow = 64 << 10
)

// TestRevocation_EndsASnapshotThatIsBeingSent makes a client read the beginning of a snapshot,
// and the remaining sent bytes once the service has ended the stream.
func TestRevocation_EndsASnapshotThatIsBeingSent(t *testing.T) {
	t.Parallel()
	ctx, service := kit.DeadlineAfter(t, kit.CrowdPatience), kit.StartForCallers(t, kit.MetricsFlags...)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createSecrets(ctx, t, namespace, unreadSecrets)
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	caller.GrantIn(namespace, "reader", kit.Rule("secrets", "list", "watch"))
	clients := caller.Calling(service, harness.Connect)
	list := func() error {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: namespace, PageSize: 1})
		return err
	}
	kit.Eventually(ctx, t, "the caller has its permissions", list)
	request := &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: namespace}
	stream := openUnread(ctx, t, unreadClient(t), service, "Watch", request, caller.Token())
	if _, err := io.CopyN(io.Discard, stream, 4_000); err != nil {
		t.Fatal(err)
	}

	caller.RevokeIn(namespace, "reader")
	kit.Eventually(ctx, t, "a list is denied", func() error {
		if err := list(); connect.CodeOf(err) != connect.CodePermissionDenied {
			return fmt.Errorf("the list returns %v", err)
		}
		return nil
	})
	wantSeries(ctx, t, service, map[string]float64{
		"kubeconnect_streams{procedure=" + kubeconnectv1connect.ResourceServiceWatchProcedure + "}": 0,
	})
	rest, err := io.ReadAll(stream)
	if len(rest) > 2*unreadWindow {
		t.Errorf("%d bytes were sent after the permission was revoked", len(rest))
	}
	if err == nil && !bytes.Contains(rest, []byte(`"permission_denied"`)) {
		t.Errorf("the stream ends without the error: %q", rest[max(0, len(rest)-200):])
	}
	kit.WantError(t, kit.WatchError(ctx, clients.Resources, request), connect.CodePermissionDenied)
}

// createSecrets creates count Secrets of unreadSize bytes.
func createSecrets(ctx context.Context, t *testing.T, namespace string, count int) {
	t.Helper()
	filling := map[string]string{"filling": strings.Repeat("x", unreadSize)}
	err := kit.CreateMany(ctx, count, func(ctx context.Context, i int) error {
		_, err := kit.SecretsIn(t, namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("unread-%05d", i)}, StringData: filling,
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), harness.Patience(kit.WaitTimeout))
		defer cancel()
		kit.Eventually(ctx, t, "the Secrets are deleted", func() error { // the API server ends a request that takes too long
			return kit.SecretsIn(t, namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		})
	})
}

// unreadClient returns an HTTP/2 client with a small flow-control window.
func unreadClient(t *testing.T) *http.Client {
	t.Helper()
	client := harness.HTTP2(t)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{
		MaxReceiveBufferPerStream: unreadWindow, MaxReceiveBufferPerConnection: unreadWindow,
	}
	return client
}

// openUnread opens a stream over the Connect protocol, and returns its bytes. It ends with the
// context.
func openUnread(ctx context.Context, t *testing.T, client *http.Client, service *harness.Service, method string, request proto.Message, token string) io.ReadCloser {
	t.Helper()
	response, err := client.Do(unreadRequest(ctx, t, service, method, request, token))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %s", response.Status)
	}
	return response.Body
}

func unreadRequest(ctx context.Context, t *testing.T, service *harness.Service, method string, request proto.Message, token string) *http.Request {
	t.Helper()
	message, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	httpRequest, err := http.NewRequestWithContext(ctx, http.MethodPost, service.Address+"/kubeconnect.v1.ResourceService/"+method, bytes.NewReader(framed))
	if err != nil {
		t.Fatal(err)
	}
	httpRequest.Header.Set("Content-Type", "application/connect+proto")
	if token != "" {
		httpRequest.Header.Set("Authorization", "Bearer "+token)
	}
	return httpRequest
}
