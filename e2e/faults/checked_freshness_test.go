package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// "A stream at a replica that has yet to read its resource gets a BOOKMARK without a version after a
// second, and UNAVAILABLE with the last error of the API server after 10 seconds." "it changes
// nothing that you hold, and has the resume token of the request".
func TestChecked_StreamReportsThatItsSnapshotIsPending(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for name, fault := range map[string]harness.Fault{"frozen": harness.Frozen, "refused": harness.Refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
			s := kit.NewPodSet(ctx, t, 2)
			request := &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: s.Namespace}
			point := kit.LastPoint(t, record.Watch(t, kit.NewClient(t, kit.Cluster(t)), request).Synced(ctx))
			client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
			warm := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.Namespace})
			warm.Synced(ctx)
			link.Set(fault)
			for _, token := range []string{"", point.Token} {
				request := proto.CloneOf(request)
				request.ResumeToken = token
				began := time.Now()
				stream, err := responses.Of(client.Watch(ctx, request))
				if err != nil {
					t.Fatal(err)
				}
				count := 0
				var last time.Time
				for stream.Receive() {
					count++
					response := stream.Msg()
					t.Logf("token %t: after %v: %v", token != "", time.Since(began).Round(time.Millisecond), shortResponse(response))
					if events := response.GetEvents(); len(events) != 1 || events[0].GetType() != kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK || events[0].GetResourceVersion() != "" || events[0].GetObject() != nil {
						t.Errorf("the stream says %v", response)
					}
					if response.GetResumeToken() != token {
						t.Errorf("the token is %q, that of the request %q", response.GetResumeToken(), token)
					}
					if response.GetFreshness() == nil || response.GetFreshness().GetLastContactTime() != nil {
						t.Errorf("without a snapshot it is as fresh as %v", response.GetFreshness())
					}
					last = time.Now()
				}
				err = stream.Err()
				_ = stream.Close()
				t.Logf("after %v, %v after the last response: %v with status %v", time.Since(began), time.Since(last), err, kit.StatusIn(err))
				if count == 0 && fault == harness.Frozen {
					t.Errorf("the stream has said nothing before %v", err)
				}
				kit.WantError(t, err, connect.CodeUnavailable)
			}
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace})
			t.Logf("a list: %v with status %v", err, kit.StatusIn(err))
			kit.WantError(t, err, connect.CodeUnavailable)
			link.Set(harness.None)
			record.ResumeElsewhere(t, client, request, point).Reaches(ctx, s.Last)
		})
	}
}

func shortResponse(response *kubeconnectv1.WatchResponse) string {
	text := response.String()
	return text[:min(len(text), 300)]
}

// "the answer is as of last_contact_time, and what has happened since may be missing": what had happened
// by last_contact_time is in the answer, and stale is reported once the API server is lost.
func TestChecked_FreshnessMatchesTheLastContact(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for name, fault := range map[string]harness.Fault{"frozen": harness.Frozen, "refused": harness.Refused, "dropped": harness.Dropped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
			write.Create("written", nil)
			kit.UntilRead(ctx, t, client, "configmaps", write.Touch("written", "before"))
			stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
			stream.Synced(ctx)
			link.Set(fault)
			cut := time.Now()
			time.Sleep(time.Second)
			missed := write.Touch("written", "missed")
			acked := time.Now()
			stale := func(freshness *kubeconnectv1.Freshness, version string) error {
				if at := freshness.GetLastContactTime().AsTime(); at.After(acked) && version != missed.ResourceVersion {
					t.Errorf("contact at %v, the write was answered at %v, the link cut at %v", at, acked, cut)
				}
				if !freshness.GetStale() {
					return fmt.Errorf("it says %v", freshness)
				}
				return nil
			}
			kit.Eventually(ctx, t, "an answer is stale", func() error {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "written"})
				if err != nil {
					return err
				}
				return stale(answer.GetFreshness(), answer.GetObject().GetResourceVersion())
			})
			t.Logf("reported after %v", time.Since(cut))
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
			if err != nil || stale(list.GetFreshness(), "") != nil {
				t.Errorf("a list is as fresh as %v: %v", list.GetFreshness(), err)
			}
			count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: namespace})
			if err != nil || stale(count.GetFreshness(), "") != nil {
				t.Errorf("a count is as fresh as %v: %v", count.GetFreshness(), err)
			}
			stream.Until(ctx, "the stream is stale", func(view *record.View) bool { return stale(view.Freshness, "") == nil })
			_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "written", MinResourceVersion: missed.ResourceVersion})
			kit.WantError(t, err, connect.CodeDeadlineExceeded)
			if kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
				t.Errorf("no time to try again in %v", kit.StatusIn(err))
			}
			link.Set(harness.None)
			kit.Eventually(ctx, t, "an answer is current", func() error {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "written"})
				if err != nil {
					return err
				}
				if !answer.GetFreshness().GetStale() && answer.GetObject().GetResourceVersion() != missed.ResourceVersion {
					t.Errorf("current, and without the write that was missed: %v", answer.GetFreshness())
				}
				return errorIf(answer.GetFreshness().GetStale(), "stale")
			})
			stream.Until(ctx, "the stream is current", func(view *record.View) bool {
				if !view.Freshness.GetStale() && view.Model.Objects[validate.Key{Namespace: namespace, Name: "written"}].GetResourceVersion() != missed.ResourceVersion {
					t.Errorf("the stream is current without the write that was missed: %v", view.Freshness)
				}
				return !view.Freshness.GetStale()
			})
		})
	}
}

func errorIf(condition bool, text string) error {
	if condition {
		return fmt.Errorf("%s", text)
	}
	return nil
}

// "A replica is ready when it has read the resources of --preload"; "is not ready while the API server
// is away" and has no snapshot.
func TestChecked_ReadinessFollowsThePreloadedSnapshots(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	in := kit.Cluster(t)
	link := harness.StartProxy(t, in.Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, in.Kubeconfig, link.Address()), "--preload", "configmaps,nothing.example.com")
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	link.Set(harness.Refused)
	kit.UntilProbe(ctx, t, service, "/upstreamz", http.StatusServiceUnavailable)
	if err := kit.Probe(ctx, t, service, "/readyz", http.StatusOK); err != nil {
		t.Errorf("with a snapshot, and the API server away: %v", err)
	}
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"}); err != nil {
		t.Error(err)
	}
	cold := harness.StartService(t, harness.KubeconfigTo(t, in.Kubeconfig, link.Address()), "--preload", "configmaps")
	kit.UntilProbe(ctx, t, cold, "/livez", http.StatusOK)
	time.Sleep(2 * time.Second)
	if err := kit.Probe(ctx, t, cold, "/readyz", http.StatusOK); err == nil {
		t.Error("ready without any snapshot")
	}
	link.Set(harness.None)
	kit.UntilProbe(ctx, t, cold, "/readyz", http.StatusOK)
	kit.UntilProbe(ctx, t, service, "/upstreamz", http.StatusOK)
}

// The link goes within the first second of a resource's watch.
func TestChecked_EarlyOutageIsReportedAsStale(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for _, fault := range []harness.Fault{harness.Refused, harness.Dropped, harness.Frozen} {
		for _, resource := range []string{"configmaps", "services", "secrets"} {
			t.Run(fmt.Sprint(fault, resource), func(t *testing.T) {
				t.Parallel()
				ctx := kit.DeadlineAfter(t, 30*time.Second)
				client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
				if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: "default"}); err != nil {
					t.Fatal(err)
				}
				link.Set(fault)
				cut := time.Now()
				kit.Eventually(ctx, t, "a list is stale", func() error {
					list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: "default"})
					if err == nil && !list.GetFreshness().GetStale() {
						err = fmt.Errorf("cut at %v, it says %v", cut.UTC().Format(time.TimeOnly), list.GetFreshness().GetLastContactTime().AsTime().Format(time.TimeOnly))
					}
					return err
				})
				t.Logf("reported after %v", time.Since(cut))
			})
		}
	}
}
