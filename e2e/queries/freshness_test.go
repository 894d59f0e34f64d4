package queries_test

import (
	"fmt"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

func TestFreshness_ReportsOutagesOfTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)
	untilWatchIs := func(stale bool) *kubeconnectv1.Freshness {
		return stream.Until(ctx, fmt.Sprintf("the watch reports stale: %v", stale), func(view *record.View) bool {
			return view.Freshness != nil && view.Freshness.GetStale() == stale
		}).Freshness
	}
	untilListIs := func(stale bool) {
		kit.Eventually(ctx, t, fmt.Sprintf("the list reports stale: %v", stale), func() error {
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
			if err != nil {
				return err
			}
			if list.GetFreshness().GetStale() != stale {
				return fmt.Errorf("freshness of the list: %v", list.GetFreshness())
			}
			return nil
		})
	}
	untilWatchIs(false)
	untilListIs(false)

	link.Set(harness.Refused)
	untilListIs(true)
	stale := time.Now() // after the last message that was on its way to the service
	if contact := untilWatchIs(true).GetLastContactTime().AsTime(); contact.IsZero() || contact.After(stale) {
		t.Errorf("the list was stale at %v, the last contact was at %v", stale, contact)
	}

	link.Set(harness.None)
	back := time.Now()
	untilListIs(false)
	untilWatchIs(false)
	stream.Until(ctx, "a contact since then is reported", func(view *record.View) bool {
		return !view.Freshness.GetStale() && view.Freshness.GetLastContactTime().AsTime().After(back)
	})
}
