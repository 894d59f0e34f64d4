package daytwo_test

import (
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// tokenLife is the lifetime of the tokens that ExpiringToken signs.
const tokenLife = time.Hour

// The clock of the host that issues a token is ahead, or behind. The service accepts a token that the
// API server accepts, and rejects the others until the API server accepts them.
func TestClocks_TokensOfAnotherClock(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	service := kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	account := kit.NewAccount(ctx, t, namespace, "caller")
	kit.GrantAdmin(ctx, t, account)
	reads := func(token string) error {
		return kit.UncachedCalls(kit.CallingWith(t, service, harness.GRPC, token).Resources, namespace)["List"](ctx)
	}
	kit.Eventually(ctx, t, "the caller has its permissions", func() error { return reads(account.Token()) })
	for name, test := range map[string]struct {
		ahead   time.Duration
		rejects bool
	}{
		"half a minute ahead": {ahead: 30 * time.Second},
		"ten minutes ahead":   {ahead: 10 * time.Minute, rejects: true},
		"ten minutes behind":  {ahead: -10 * time.Minute},
		"two hours behind":    {ahead: -2 * time.Hour, rejects: true},
	} {
		t.Run(name, func(t *testing.T) {
			token := account.ExpiringToken(time.Now().Add(tokenLife + test.ahead))
			if direct := accepts(t, token); direct == test.rejects {
				t.Fatalf("the API server accepts the token: %v", direct)
			}
			err := reads(token)
			if test.rejects {
				kit.WantError(t, err, connect.CodeUnauthenticated)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a minute ahead, until it is valid", func(t *testing.T) {
		token := account.ExpiringToken(time.Now().Add(tokenLife + 65*time.Second)) // the API server allows a minute
		kit.Eventually(ctx, t, "the token is accepted", func() error {
			err := reads(token)
			if err != nil && connect.CodeOf(err) != connect.CodeUnauthenticated {
				t.Fatal(err)
			}
			return err
		})
	})
}

// accepts reports whether the API server accepts a token.
func accepts(t *testing.T, token string) bool {
	t.Helper()
	config := rest.AnonymousClientConfig(kit.Cluster(t).Config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil && !apierrors.IsUnauthorized(err) {
		t.Fatal(errors.Join(errors.New("the API server cannot be asked"), err))
	}
	return err == nil
}

// The clock of a program is minutes off. Its page follows the cluster.
func TestClocks_OfAProgramAreNotCompared(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, minutes := range map[string]string{"ahead": "10", "behind": "-10"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, kit.FaultPatience)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			c := callers{t: t, write: kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)}
			c.node = kit.StartProcess(t, "env", "MINUTES="+minutes, "node", "--import", kit.CallerPath(t, "node", "shiftedclock.mjs"),
				kit.CallerPath(t, "node", "live.mjs"), "page", "grpc", service.Address, namespace)
			c.create(ctx, "followed", "first")
			c.change(ctx, "followed", "second")
		})
	}
}
