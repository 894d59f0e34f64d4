package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// crowdOf is the number of ConfigMaps.
	crowdOf = 20_000
	// writers is the number of concurrent requests.
	writers = 32
	// crowdPatience bounds the creation of tens of thousands of objects on a busy machine.
	crowdPatience = 5 * time.Minute
)

// rareLabel is the label of exactly two ConfigMaps of the crowd.
var rareLabel = labels{"rare": "yes"}

// crowd is a namespace with many ConfigMaps, which no test changes.
type crowd struct {
	namespace string
	count     int
	rare      []string // the names of the ConfigMaps with rareLabel, in order
}

var theCrowd struct {
	once  sync.Once
	crowd crowd
}

// crowdOfConfigMaps creates the crowd unless an earlier test has created it.
func crowdOfConfigMaps(t *testing.T) crowd {
	t.Helper()
	theCrowd.once.Do(func() { theCrowd.crowd = makeCrowd(t) })
	if theCrowd.crowd.count == 0 {
		t.Fatal("another test failed to create the crowd")
	}
	return theCrowd.crowd
}

func makeCrowd(t *testing.T) crowd {
	t.Helper()
	began, ctx := time.Now(), deadlineAfter(t, crowdPatience)
	namespace := newNamespace(ctx, t, crowdedCluster(t))
	api := crowdedCluster(t).Client.CoreV1().ConfigMaps(namespace)
	created := crowd{namespace: namespace, count: crowdOf + 1, rare: []string{crowdName(777), crowdName(15_555)}}
	err := createMany(ctx, crowdOf, func(ctx context.Context, i int) error {
		member := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: crowdName(i)}}
		if member.Name == created.rare[0] || member.Name == created.rare[1] {
			member.Labels = rareLabel
		}
		_, err := api.Create(ctx, member, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("created %d ConfigMaps in %v", crowdOf, time.Since(began))
	return created
}

func crowdName(i int) string { return fmt.Sprintf("member-%05d", i) }

// createMany calls create for 0 to count-1, several concurrently.
func createMany(ctx context.Context, count int, create func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range count {
		group.Go(func() error { return create(ctx, i) })
	}
	return group.Wait()
}
