package alerts_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// callInterval is the interval at which a caller makes calls, one after another.
	callInterval = 50 * time.Millisecond
	// streamsOfCaller is the number of watches that a caller has open.
	streamsOfCaller = 10
)

// reader returns an account that has permission to read ConfigMaps in all namespaces.
func reader(ctx context.Context, t *testing.T) kit.Account {
	t.Helper()
	account := kit.NewAccount(ctx, t, kit.NewNamespace(ctx, t, kit.Cluster(t)), "reader")
	kit.GrantEverywhere(t, account, kit.Rule("configmaps", "get", "list", "watch"))
	return account
}

// background is what callers do until the test ends. Their errors are part of the fault.
type background struct {
	ctx   context.Context
	tasks sync.WaitGroup
}

func newBackground(t *testing.T) *background {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	b := &background{ctx: ctx}
	t.Cleanup(func() { cancel(); b.tasks.Wait() })
	return b
}

// repeat calls do until the test ends.
func (b *background) repeat(do func(ctx context.Context), pause time.Duration) {
	b.tasks.Go(func() {
		for b.ctx.Err() == nil {
			do(b.ctx)
			kit.Last(b.ctx, pause)
		}
	})
}

// startLoad makes calls and keeps streams open, as an ordinary caller does.
func startLoad(t *testing.T, clients ...kit.ResourceClient) {
	t.Helper()
	load := newBackground(t)
	for _, client := range clients {
		load.repeat(reads(client), callInterval)
		for range streamsOfCaller {
			watch := &stream{client: client, namespace: "default"}
			load.repeat(func(ctx context.Context) { watch.call(ctx, 0) }, callInterval)
		}
	}
}

// reads returns a function that reads an object, or several.
func reads(client kit.ResourceClient) func(context.Context) {
	calls := 0
	return func(ctx context.Context) {
		calls++
		if calls%2 == 0 {
			_, _ = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: "default", Name: "kube-root-ca.crt"})
			return
		}
		_, _ = client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: fmt.Sprint("namespace-", calls%7)})
	}
}

// stream is a watch of the ConfigMaps of a namespace that resumes when it was interrupted.
type stream struct {
	client    kit.ResourceClient
	namespace string
	token     string
}

// call receives messages until the stream ends, or at most a number of messages with a token if
// that is not 0.
func (s *stream) call(ctx context.Context, atMost int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := responses.Of(s.client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.namespace, ResumeToken: s.token}))
	if err != nil {
		return
	}
	defer func() { _ = watch.Close() }()
	for received := 0; watch.Receive(); {
		if token := watch.Msg().GetResumeToken(); token != "" {
			s.token = token
			received++
		}
		if atMost > 0 && received == atMost {
			return
		}
	}
}

// clientOf returns a client of a service without authentication.
func clientOf(t *testing.T, service *harness.Service) kit.ResourceClient {
	t.Helper()
	return harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
}

// changes returns a function that changes a ConfigMap.
func changes(t *testing.T, namespace, name string) func(context.Context) {
	t.Helper()
	api, count := kit.Cluster(t).Client.CoreV1().ConfigMaps(namespace), 0
	return func(ctx context.Context) {
		count++
		patch := fmt.Sprintf(`{"data":{"key":"%d"}}`, count)
		_, _ = api.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
}
