package limits_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// clientAttack is a request that a client without a credential sends many times concurrently.
type clientAttack struct {
	path, contentType, encoding string
	header                      string // a long header
	body                        func() io.Reader
	times                       int
}

// pending returns a body that begins with bytes, and does not end.
func pending(ctx context.Context, begin []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(begin), untilEnd{ctx})
}

type untilEnd struct{ ctx context.Context }

func (u untilEnd) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, errors.New("cancelled")
}

// send sends the request and blocks until the service has responded or ctx is done.
func (a clientAttack) send(ctx context.Context, t *testing.T, httpClient *http.Client, address string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+a.path, a.body())
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Content-Type", a.contentType)
	request.Header.Set("Content-Encoding", a.encoding)
	request.Header.Set("X-Long", a.header)
	answer, err := httpClient.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
}

// compressedQuestions returns a CheckAccess request with many questions, compressed to a few bytes.
func compressedQuestions(t *testing.T, questions int) []byte {
	t.Helper()
	request := &kubeconnectv1.CheckAccessRequest{Checks: make([]*kubeconnectv1.AccessCheck, questions)}
	for i := range request.Checks {
		request.Checks[i] = &kubeconnectv1.AccessCheck{}
	}
	message, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = writer.Write(message)
	_ = writer.Close()
	return compressed.Bytes()
}

// TestHostileClients_WithoutACredentialUseLittleMemory runs each attack until a probe has been
// answered during it.
func TestHostileClients_WithoutACredentialUseLittleMemory(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--auth", "cluster")
	questions := compressedQuestions(t, 2_000_000)
	attacking, stop := context.WithCancel(ctx)
	defer stop()
	for name, attack := range map[string]clientAttack{
		"bodies that do not end": {
			path: "/kubeconnect.v1.ResourceService/Create", contentType: "application/json", times: 200,
			body: func() io.Reader { return pending(attacking, bytes.Repeat([]byte(" "), nearlyTooLarge)) },
		},
		"bodies that decompress to many bytes": {
			path: "/kubeconnect.v1.AccessService/CheckAccess", contentType: "application/proto", encoding: "gzip", times: 20,
			body: func() io.Reader { return bytes.NewReader(questions) },
		},
		"watches of health with long headers": {
			path: "/grpc.health.v1.Health/Watch", contentType: "application/grpc", header: strings.Repeat("x", 30_000), times: 900,
			body: func() io.Reader { return strings.NewReader("\x00\x00\x00\x00\x00") },
		},
		"watches of health with longer headers": {
			path: "/grpc.health.v1.Health/Watch", contentType: "application/grpc", header: strings.Repeat("x", 900_000), times: 900,
			body: func() io.Reader { return strings.NewReader("\x00\x00\x00\x00\x00") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			attacking, stop := context.WithCancel(attacking)
			httpClient := harness.HTTP2(t)
			var sending sync.WaitGroup
			for range attack.times {
				sending.Go(func() { attack.send(attacking, t, httpClient, service.Address) })
			}
			for range 200 {
				if answer := kit.Send(ctx, t, harness.OneCallConnections(t), service.Address+"/livez", http.MethodGet, "", "", kit.ForeignRequest{}); answer.StatusCode != http.StatusOK {
					t.Errorf("probe: %s", answer.Status)
				}
			}
			if peak := peakMemory(t, service.PID()); peak > hostileMemory {
				t.Errorf("the service used %d MiB, want at most %d", peak>>20, hostileMemory>>20)
			} else {
				t.Logf("the service used at most %d MiB", peak>>20)
			}
			stop()
			sending.Wait()
		})
	}
}
