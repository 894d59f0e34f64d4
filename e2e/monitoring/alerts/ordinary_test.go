package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/monitoring"
)

// quiet is the time of the recording before and after a rolling restart.
const quiet = 15 * time.Minute

// A day without an incident: callers read, watch and write, one of them is over its limits for a
// moment, connections to the API server break, streams move, and both replicas are replaced. No alert
// fires. The rules and the dashboard find all metrics that they use.
func TestOrdinaryDay_NoAlertFiresAndAllMetricsExist(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, faultPatience)
	balancer := harness.StartBalancer(t)
	replicas := []*replica{startOrdinaryReplica(ctx, t, "a"), startOrdinaryReplica(ctx, t, "b")}
	p := startPrometheus(t)
	for _, replica := range replicas {
		join(p, balancer, replica)
	}
	account := reader(ctx, t)
	client := clientThrough(t, balancer, account)
	startLoad(t, client)
	startChanges(ctx, t, account.Namespace, client)
	exceedRate(ctx, t, clientThrough(t, balancer, reader(ctx, t)))
	p.untilRecorded(t, quiet)
	for _, replica := range replicas {
		replica.link.Cut()
	}
	for i, old := range replicas {
		join(p, balancer, startOrdinaryReplica(ctx, t, fmt.Sprint("new-", i)))
		leave(t, p, balancer, old)
	}
	p.untilRecorded(t, quiet)
	p.wantFired(t)
	p.wantMetrics(ctx, t)
	p.wantPanels(ctx, t)
	p.draw(ctx, t)
}

func startOrdinaryReplica(ctx context.Context, t *testing.T, name string) *replica {
	t.Helper()
	file, write := configFile(t)
	write("callerRequestRate: 50\ncallerRequestBurst: 100\n")
	return startReplica(ctx, t, name, "--auth", "cluster", "--config", file, "--memory-limit", "1Gi", "--max-stream-age", "10s")
}

// join adds a replica to the balancer, and to the targets.
func join(p *prometheus, balancer *harness.Proxy, added *replica) {
	p.add(added.target)
	balancer.AddTarget(kit.HostPort(added.Service))
}

// leave removes a replica as Kubernetes does: it gets no new connections, is no target any longer,
// and ends.
func leave(t *testing.T, p *prometheus, balancer *harness.Proxy, old *replica) {
	t.Helper()
	balancer.RemoveTarget(kit.HostPort(old.Service))
	p.remove(old.target)
	stop(t, old)
}

// clientThrough returns a client of an account that reaches replicas through a balancer.
func clientThrough(t *testing.T, balancer *harness.Proxy, account kit.Account) kit.ResourceClient {
	t.Helper()
	httpClient := harness.HTTP2(t)
	httpClient.Transport = kit.HeaderTransport{Headers: http.Header{"Authorization": {"Bearer " + account.Token()}}, Base: httpClient.Transport}
	return harness.Dial(httpClient, "http://"+balancer.Address(), harness.GRPC).Resources
}

// startChanges changes an object that a stream watches.
func startChanges(ctx context.Context, t *testing.T, namespace string, client kit.ResourceClient) {
	t.Helper()
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("changed", nil)
	changing := newBackground(t)
	changing.repeat(func(ctx context.Context) {
		watch := &stream{client: client, namespace: namespace}
		watch.call(ctx, 0)
	}, callInterval)
	changing.repeat(changes(t, namespace, "changed"), 10*callInterval)
}

// exceedRate makes calls until one is rejected.
func exceedRate(ctx context.Context, t *testing.T, client kit.ResourceClient) {
	t.Helper()
	callers, rejected := newBackground(t), make(chan struct{})
	calling, done := context.WithCancel(callers.ctx)
	defer done()
	for range streamsOfCaller {
		callers.tasks.Go(func() {
			for calling.Err() == nil {
				_, err := client.Get(calling, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: "default", Name: "none"})
				if connect.CodeOf(err) == connect.CodeResourceExhausted {
					select {
					case rejected <- struct{}{}:
					case <-calling.Done():
					}
				}
			}
		})
	}
	select {
	case <-rejected:
	case <-ctx.Done():
		t.Fatal("no call is rejected")
	}
}

// wantMetrics fails the test unless all metrics of the rules and of the dashboard were scraped, with
// the labels that are used.
func (p *prometheus) wantMetrics(ctx context.Context, t *testing.T) {
	t.Helper()
	used, err := monitoring.UsedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	if len(used) < 20 {
		t.Fatalf("only %d metrics are used: %q", len(used), used)
	}
	for metric, labels := range used {
		for _, label := range append(labels, "job") {
			if p.query(ctx, t, fmt.Sprintf(`count(count_over_time(%s{%s!=""}[2h]))`, metric, label)) == 0 {
				t.Errorf("there is no metric %s with label %s", metric, label)
			}
		}
	}
}

// wantPanels fails the test unless each query of the dashboard has returned data.
func (p *prometheus) wantPanels(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, query := range monitoring.Queries() {
		text := onDashboard(query, "2h")
		if p.query(ctx, t, text) == 0 {
			t.Errorf("no data for the panel with %s", text)
		}
	}
}

// onDashboard returns the expression of a query for all replicas, with a range for rates.
func onDashboard(query monitoring.Query, rates string) string {
	text := query.Selecting(fmt.Sprintf("job=%q", monitoring.Job))
	return strings.NewReplacer("$__rate_interval", rates, "$namespace", ".*").Replace(text)
}

// query returns the number of results of an expression at the present time.
func (p *prometheus) query(ctx context.Context, t *testing.T, text string) int {
	t.Helper()
	query, err := p.engine.NewInstantQuery(ctx, p.storage, nil, text, p.clock.at(time.Now()))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer query.Close()
	result, err := query.Exec(ctx).Vector()
	if err != nil {
		t.Fatal(errors.Join(fmt.Errorf("query %s", text), err))
	}
	return len(result)
}
