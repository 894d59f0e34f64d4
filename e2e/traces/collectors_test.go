package traces_test

import (
	"net"
	"net/http/httptest"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestTraces_AreExportedByGRPC(t *testing.T) {
	ctx := kit.Deadline(t)
	collector := startCollector(t)
	exportTo(t, "grpc", "http://"+collector.grpc)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--tracing")
	sent := newContext()
	client := kit.CallingWithHeaders(t, service, harness.Connect, sent.headers("any")).Resources
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"}); err != nil {
		t.Fatal(err)
	}
	collector.belowCall(ctx, t, sent, "List")
}

// TestTraces_DoNotDisturbCallsWithoutCollector makes more calls than the queue of spans has places for.
// The service exits cleanly at the end of each test.
func TestTraces_DoNotDisturbCallsWithoutCollector(t *testing.T) {
	for name, endpoint := range map[string]func(*testing.T) string{"refuses": refusing, "hangs": hanging} {
		for _, protocol := range []string{"http/protobuf", "grpc"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				exportTo(t, protocol, endpoint(t))
				t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
				t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
				service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--tracing")
				client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
				for range 200 {
					if _, err := client.List(kit.Deadline(t), &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"}); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// refusing returns an address at which nothing listens.
func refusing(*testing.T) string {
	closed := httptest.NewServer(nil)
	closed.Close()
	return closed.URL
}

// hanging returns the address of a collector that accepts connections and never responds.
func hanging(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		var open []net.Conn
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			open = append(open, conn)
		}
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-accepted
	})
	return "http://" + listener.Addr().String()
}
