package limits_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// agentPods is the number of pods of the agents, and agentsOfPod the number of tokens of each
	// pod.
	agentPods   = 60
	agentsOfPod = 10
	// idleTime is longer than the cluster's responses are cached in any case.
	idleTime = 15 * time.Second
)

// agents are clients with tokens of one service account, which are bound to pods and have a stream
// each.
type agents struct {
	kit.Account
	service *harness.Service
	tokens  [agentPods][agentsOfPod]string
	ended   [agentPods][agentsOfPod]chan error // receives the error of the stream
}

func podOfAgents(i int) string { return fmt.Sprint("agents-", i) }

// makeTokens creates the pods, which no node runs, and their tokens.
func (a *agents) makeTokens() {
	a.T.Helper()
	err := kit.CreateMany(a.Ctx, agentPods, func(ctx context.Context, i int) error {
		pod, err := kit.Cluster(a.T).Client.CoreV1().Pods(a.Namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: podOfAgents(i)},
			Spec: corev1.PodSpec{
				ServiceAccountName: a.Name, NodeSelector: map[string]string{"no": "node"},
				Containers: []corev1.Container{{Name: "agent", Image: "agent"}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		bound := &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
		for j := range agentsOfPod {
			a.tokens[i][j] = a.TokenFor(authenticationv1.TokenRequestSpec{BoundObjectRef: bound})
		}
		return nil
	})
	if err != nil {
		a.T.Fatal(err)
	}
}

// open opens all streams concurrently, from one address, and blocks until each has its snapshot.
func (a *agents) open() error {
	base := harness.HTTP2(a.T).Transport
	watching, cancel := context.WithCancel(context.WithoutCancel(a.Ctx))
	a.T.Cleanup(cancel)
	var opening errgroup.Group
	for i, tokens := range a.tokens {
		for j, token := range tokens {
			client := &http.Client{Transport: kit.HeaderTransport{Headers: http.Header{"Authorization": {"Bearer " + token}}, Base: base}}
			opening.Go(func() (err error) {
				a.ended[i][j], err = a.watch(watching, harness.Dial(client, a.service.Address, harness.GRPC).Resources)
				return err
			})
		}
	}
	return opening.Wait()
}

// watch opens a stream and blocks until it has its snapshot.
func (a *agents) watch(ctx context.Context, client kit.ResourceClient) (chan error, error) {
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: a.Namespace}))
	if err != nil {
		return nil, err
	}
	for stream.Receive() {
		if slices.ContainsFunc(stream.Msg().GetEvents(), func(event *kubeconnectv1.Event) bool {
			return event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
		}) {
			ended := make(chan error, 1)
			go func() {
				for stream.Receive() {
				}
				ended <- stream.Err()
				_ = stream.Close()
			}()
			return ended, nil
		}
	}
	return nil, errors.Join(stream.Err(), stream.Close())
}

// isOpen fails the test if a stream of a pod has ended.
func (a *agents) isOpen(pod int) {
	a.T.Helper()
	for _, ended := range a.ended[pod] {
		select {
		case err := <-ended:
			a.T.Fatalf("a stream of pod %d ended: %v", pod, err)
		default:
		}
	}
}

func (a *agents) wantEnd(pod int, code connect.Code) {
	a.T.Helper()
	for _, ended := range a.ended[pod] {
		select {
		case err := <-ended:
			kit.WantError(a.T, err, code)
		case <-a.Ctx.Done():
			a.T.Fatalf("a stream of pod %d did not end", pod)
		}
	}
}

// reviews returns the number of token reviews and access reviews that the service has sent.
func (a *agents) reviews() (tokens, permissions float64) {
	a.T.Helper()
	counts := reviewsOf(a.Ctx, a.T, a.service)
	return counts.tokens, counts.permissions
}

// TestAgents_IdleStreamsCostNoReviews makes 600 agents of one service account call a service for
// the first time, concurrently. Then they are idle for a while, and then they lose a pod and their
// permission.
func TestAgents_IdleStreamsCostNoReviews(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	a := &agents{Account: kit.NewAccount(ctx, t, namespace, "agents")}
	a.GrantIn(namespace, "agents", kit.Rule("configmaps", "list", "watch"))
	a.makeTokens()
	a.service = kit.StartForCallers(t, append([]string{"--recheck-interval", "1s", "--permission-review-interval", "5m"}, kit.MetricsFlags...)...)
	if err := a.open(); err != nil {
		t.Fatalf("an agent's first call failed: %v", err)
	}
	kit.Eventually(ctx, t, "idle streams cost no reviews", func() error {
		tokens, permissions := a.reviews()
		select {
		case <-time.After(idleTime):
		case <-ctx.Done():
		}
		tokensLater, permissionsLater := a.reviews()
		if tokens != tokensLater || permissions != permissionsLater {
			return fmt.Errorf("%v token reviews and %v access reviews in %v", tokensLater-tokens, permissionsLater-permissions, idleTime)
		}
		return nil
	})
	for pod := range agentPods {
		a.isOpen(pod)
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Delete(ctx, podOfAgents(0), now); err != nil {
		t.Fatal(err)
	}
	a.wantEnd(0, connect.CodeUnauthenticated)
	for pod := 1; pod < agentPods; pod++ {
		a.isOpen(pod)
	}
	a.RevokeIn(namespace, "agents")
	for pod := 1; pod < agentPods; pod++ {
		a.wantEnd(pod, connect.CodePermissionDenied)
	}
}
