package limits_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// A list returns largeSecrets Secrets of largeSecretBytes each: 12 MB.
	largeSecrets, largeSecretBytes = 400, 30_000
	// parallelLists is the number of concurrent lists of one caller.
	parallelLists = 50
	// answersLimit is the memory limit of the service, and answersMemory bounds its memory as the
	// operating system counts it, under the race detector too.
	answersLimit  = "200Mi"
	answersMemory = 300 << 20
)

// TestList_ManyListsOfOneCallerFitInMemory makes one caller list 12 MB as often as possible while
// another caller reads a little of it.
func TestList_ManyListsOfOneCallerFitInMemory(t *testing.T) {
	t.Parallel()
	for _, protocol := range []harness.Protocol{harness.GRPC, harness.ConnectJSON} {
		t.Run(protocol.Name, func(t *testing.T) {
			ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			if err := kit.CreateMany(ctx, largeSecrets, func(ctx context.Context, i int) error { return createLargeSecret(ctx, t, namespace, i) }); err != nil {
				t.Fatal(err)
			}
			service := kit.StartForCallers(t, "--memory-limit", answersLimit)
			holdToMemory(t, service.PID(), answersMemory)
			many, one := kit.NewAccount(ctx, t, namespace, "many"), kit.NewAccount(ctx, t, namespace, "one")
			many.GrantIn(namespace, "many", kit.Rule("secrets", "list"))
			one.GrantIn(namespace, "one", kit.Rule("secrets", "list"))
			attacker, other := many.Calling(service, protocol).Resources, one.Calling(service, protocol).Resources
			little := &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: namespace, PageSize: 1}
			for _, client := range []kit.ResourceClient{attacker, other} {
				kit.Eventually(ctx, t, "the caller has permission to list", func() error {
					_, err := client.List(ctx, little)
					return err
				})
			}
			attacking, stop := context.WithCancel(ctx)
			defer stop()
			var reading errgroup.Group
			var read atomic.Int32
			reading.Go(func() error {
				for ; attacking.Err() == nil || read.Load() == 0; read.Add(1) {
					if _, err := other.List(ctx, little); err != nil {
						return err
					}
				}
				return nil
			})
			listed, refused := listInParallel(ctx, t, attacker, namespace)
			stop()
			if err := reading.Wait(); err != nil {
				t.Errorf("call %d of the other caller: %v", read.Load()+1, err)
			}
			peak := peakMemory(t, service.PID())
			t.Logf("%d lists succeeded and %d were rejected; the other caller made %d calls; the service used at most %d MiB", listed, refused, read.Load(), peak>>20)
			if peak > answersMemory {
				t.Errorf("the service used %d MiB, want at most %d", peak>>20, answersMemory>>20)
			}
			if listed == 0 {
				t.Error("no list succeeded")
			}
		})
	}
}

// listInParallel lists all Secrets of a namespace many times concurrently, and returns how many
// lists succeeded, and how many were rejected temporarily.
func listInParallel(ctx context.Context, t *testing.T, client kit.ResourceClient, namespace string) (listed, refused int32) {
	t.Helper()
	var answered, later atomic.Int32
	var listing errgroup.Group
	for range parallelLists {
		listing.Go(func() error {
			request := &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: namespace}
			for {
				page, err := client.List(ctx, request)
				switch {
				case retryAfter(err) > 0:
					later.Add(1)
					return nil
				case kit.IsExpired(err): // other tests have changed so much that its version is no longer in memory
					request.PageToken = ""
					continue
				case err != nil:
					return err
				case page.GetNextPageToken() == "":
					answered.Add(1)
					return nil
				}
				request.PageToken = page.GetNextPageToken()
			}
		})
	}
	if err := listing.Wait(); err != nil {
		t.Errorf("list: %v", err)
	}
	return answered.Load(), later.Load()
}

func createLargeSecret(ctx context.Context, t *testing.T, namespace string, i int) error {
	data := make([]byte, largeSecretBytes)
	_, _ = rand.Read(data) // never fails
	_, err := kit.SecretsIn(t, namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("large-", i)},
		Data:       map[string][]byte{"data": data},
	}, metav1.CreateOptions{})
	return err
}
