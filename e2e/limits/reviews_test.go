package limits_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// reviewsWindow is the time for which reviews are counted.
	reviewsWindow = time.Minute
	// reviewsOfPermission bounds the reviews of one permission in that time: those of every second
	// renewal, each nine seconds after the one before.
	reviewsOfPermission = 4
	// watchedPermissions is the number of permissions that a watch needs: list and watch.
	watchedPermissions = 2
)

// TestReviews_OfIdleStreams counts the reviews for open streams. Their number depends on the callers,
// not on the streams.
func TestReviews_OfIdleStreams(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		callers, streams int
		flags            []string
		most             int // of a permission
	}{
		"10 callers with a stream each":                           {10, 1, nil, reviewsOfPermission},
		"10 callers with 20 streams each":                         {10, 20, nil, reviewsOfPermission},
		"10 callers with 20 streams each, where RBAC is the only": {10, 20, []string{"--permission-review-interval", "5m"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			service := kit.StartForCallers(t, append(test.flags, kit.MetricsFlags...)...)
			for i := range test.callers {
				account := kit.NewAccount(ctx, t, namespace, fmt.Sprint("caller-", i))
				account.GrantIn(namespace, account.Name, kit.Rule("configmaps", "list", "watch"))
				client := account.Calling(service, harness.GRPC).Resources
				for range test.streams {
					openIdle(ctx, t, client, namespace)
				}
			}
			// A change of RBAC makes reviews frequent for a minute.
			<-time.After(time.Minute)
			before := reviewsOf(ctx, t, service)
			<-time.After(reviewsWindow)
			tokens, permissions := reviewsOf(ctx, t, service).since(before)
			t.Logf("%.0f TokenReviews and %.0f SubjectAccessReviews in a minute", tokens, permissions)
			if most := test.callers * watchedPermissions * test.most; int(permissions) > most {
				t.Errorf("%.0f SubjectAccessReviews, want at most %d", permissions, most)
			}
		})
	}
}

// openIdle opens a watch, and reads it until the test ends.
func openIdle(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) {
	t.Helper()
	stream, err := client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
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
