package limits_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// reviewsWindow is the time for which reviews are counted.
const reviewsWindow = time.Minute

// TestReviews_OfIdleStreams counts the reviews for open streams at three services in the same time. Their number depends on the
// callers, not on the streams. Other tests change RBAC meanwhile, which causes reviews at each of the services;
// TestAccessLease_StreamsOfACallerShareReviews has the number without that.
func TestReviews_OfIdleStreams(t *testing.T) {
	t.Parallel()
	const callers = 10
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	var accounts []kit.Account
	for i := range callers {
		account := kit.NewAccount(ctx, t, namespace, fmt.Sprint("caller-", i))
		account.GrantIn(namespace, account.Name, kit.Rule("configmaps", "list", "watch"))
		accounts = append(accounts, account)
	}
	start := func(streams int, flags ...string) *harness.Service {
		service := kit.StartForCallers(t, append(flags, kit.MetricsFlags...)...)
		for _, account := range accounts {
			client := account.Calling(service, harness.GRPC).Resources
			for range streams {
				openIdle(ctx, t, client, namespace)
			}
		}
		return service
	}
	services := map[string]*harness.Service{
		"a stream each":   start(1),
		"20 streams each": start(20),
		"20 streams each, where RBAC is the only": start(20, "--permission-review-interval", "5m"),
	}
	<-time.After(time.Minute) // a change of RBAC makes reviews frequent for a minute
	before, counted := make(map[string]reviewCounts), make(map[string]float64)
	for name, service := range services {
		before[name] = reviewsOf(ctx, t, service)
	}
	<-time.After(reviewsWindow)
	for name, service := range services {
		tokens, permissions := reviewsOf(ctx, t, service).since(before[name])
		t.Logf("%s: %.0f TokenReviews and %.0f SubjectAccessReviews in a minute", name, tokens, permissions)
		counted[name] = permissions
	}
	one, many, seldom := counted["a stream each"], counted["20 streams each"], counted["20 streams each, where RBAC is the only"]
	if one == 0 || many > 1.5*one {
		t.Errorf("%.0f SubjectAccessReviews for 20 streams of each caller, and %.0f for one", many, one)
	}
	if seldom > 0.75*many {
		t.Errorf("%.0f SubjectAccessReviews where RBAC is the only authorizer, and %.0f otherwise", seldom, many)
	}
}

// openIdle opens a watch, and reads it until the test ends.
func openIdle(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) {
	t.Helper()
	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}))
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	go func() {
		for stream.Receive() {
		}
		_ = stream.Close()
	}()
}

// reviewCounts are the numbers of reviews that a service has sent.
type reviewCounts struct{ tokens, permissions float64 }

func reviewsOf(ctx context.Context, t *testing.T, service *harness.Service) reviewCounts {
	t.Helper()
	series := scrapeOf(ctx, t, service).Series
	return reviewCounts{series["kubeconnect_auth_reviews_total{review=TokenReview}"], series["kubeconnect_auth_reviews_total{review=SubjectAccessReview}"]}
}

func (c reviewCounts) since(before reviewCounts) (tokens, permissions float64) {
	return c.tokens - before.tokens, c.permissions - before.permissions
}
