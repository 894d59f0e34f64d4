package kit

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
	// CrowdOf is the number of ConfigMaps.
	CrowdOf = 20_000
	// Writers is the number of concurrent requests.
	Writers = 32
	// CrowdPatience bounds the creation of tens of thousands of objects on a busy machine.
	CrowdPatience = 5 * time.Minute
)

// rareLabel is the label of exactly two ConfigMaps of the crowd.
var rareLabel = Labels{"rare": "yes"}

// Crowd is a namespace with many ConfigMaps, which no test changes.
type Crowd struct {
	Namespace string
	Count     int
	Rare      []string // the names of the ConfigMaps with rareLabel, in order
}

var theCrowd struct {
	once  sync.Once
	crowd Crowd
}

// CrowdOfConfigMaps creates the crowd unless an earlier test has created it.
func CrowdOfConfigMaps(t *testing.T) Crowd {
	t.Helper()
	theCrowd.once.Do(func() { theCrowd.crowd = makeCrowd(t) })
	if theCrowd.crowd.Count == 0 {
		t.Fatal("another test failed to create the crowd")
	}
	return theCrowd.crowd
}

func makeCrowd(t *testing.T) Crowd {
	t.Helper()
	began, ctx := time.Now(), DeadlineAfter(t, CrowdPatience)
	namespace := NewNamespace(ctx, t, CrowdedCluster(t))
	api := CrowdedCluster(t).Client.CoreV1().ConfigMaps(namespace)
	created := Crowd{Namespace: namespace, Count: CrowdOf + 1, Rare: []string{crowdName(777), crowdName(15_555)}}
	err := CreateMany(ctx, CrowdOf, func(ctx context.Context, i int) error {
		member := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: crowdName(i)}}
		if member.Name == created.Rare[0] || member.Name == created.Rare[1] {
			member.Labels = rareLabel
		}
		_, err := api.Create(ctx, member, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("created %d ConfigMaps in %v", CrowdOf, time.Since(began))
	return created
}

func crowdName(i int) string { return fmt.Sprintf("member-%05d", i) }

// CreateMany calls create for 0 to count-1, several concurrently.
func CreateMany(ctx context.Context, count int, create func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Writers)
	for i := range count {
		group.Go(func() error { return create(ctx, i) })
	}
	return group.Wait()
}
