package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// rolledStreams is the number of open streams while replicas are replaced, on rolledConnections
	// connections.
	rolledStreams     = 300
	rolledConnections = 30
	rolledReplicas    = 3
	// rolledRate is the number of bytes a second that a replica receives from the API server:
	// reading twenty thousand objects takes several seconds.
	rolledRate = 1 << 20
	// rolledChange is the interval between two changes.
	rolledChange = 50 * time.Millisecond
	// counterName is the name of the changing ConfigMap, and counterKey the key of the number of
	// the change.
	counterName = "counter"
	counterKey  = "count"
)

// mayBeBehind bounds the delay of a change in a stream while replicas are replaced.
var mayBeBehind = harness.Patience(2 * time.Second)

// Replicas are replaced as Kubernetes does it: the next one when the last one is ready. The streams
// select one object among twenty thousand, so that a replica which has not cached these yet is
// late.
func TestRollingRestart_StreamsResumeWithoutResync(t *testing.T) {
	crowd := kit.CrowdOfConfigMaps(t)
	ctx, stop := context.WithCancel(kit.DeadlineAfter(t, kit.CrowdPatience))
	defer stop()
	controlPlane := kit.CrowdedCluster(t)
	balancer, replicas := harness.StartBalancer(t), make([]*harness.Service, rolledReplicas)
	for i := range replicas {
		replicas[i] = startWarm(ctx, t, controlPlane)
		balancer.AddTarget(kit.HostPort(replicas[i]))
	}
	counter := startCounter(ctx, t, controlPlane, crowd.Namespace)
	streams, following := counter.followed(ctx, t, crowd.Namespace, balancer)
	counter.count(ctx, t, 20, streams)
	for _, old := range replicas {
		balancer.AddTarget(kit.HostPort(startWarm(ctx, t, controlPlane)))
		balancer.RemoveTarget(kit.HostPort(old))
		if err := old.Stop(); err != nil {
			t.Errorf("a replica exited: %v", err)
		}
		counter.count(ctx, t, 40, streams)
	}
	stop()
	following.Wait()
	wantUnnoticed(t, streams)
}

// startWarm starts a replica with a slow link to the API server, and blocks until it is ready.
func startWarm(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) *harness.Service {
	t.Helper()
	link := harness.StartProxy(t, controlPlane.Address(), harness.None)
	link.SetSlowRate(rolledRate)
	link.Set(harness.Slow)
	service := harness.StartService(t, harness.KubeconfigTo(t, controlPlane.Kubeconfig, link.Address()), "--preload", "configmaps")
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	return service
}

// wantUnnoticed fails the test unless all streams have resumed, and none of them was late, received
// a RESET, or failed with another error than the end of its replica.
func wantUnnoticed(t *testing.T, streams []*countingStream) {
	t.Helper()
	late, resets, resumed, worst := 0, 0, 0, time.Duration(0)
	var errs []string
	for _, stream := range streams {
		if stream.behind > mayBeBehind {
			late++
		}
		resets += stream.resets - 1
		resumed += stream.resumed
		worst = max(worst, stream.behind)
		errs = append(errs, stream.errors...)
	}
	t.Logf("%d streams resumed %d times; maximum delay %v", len(streams), resumed, worst)
	if late > 0 || resets > 0 || len(errs) > 0 {
		slices.Sort(errs)
		t.Errorf("%d streams were late by more than %v, %d RESETs, %d errors: %q", late, mayBeBehind, resets, len(errs), slices.Compact(errs))
	}
	if resumed < len(streams) {
		t.Errorf("%d streams resumed %d times: not all were interrupted", len(streams), resumed)
	}
}

// counter changes an object repeatedly, and records the time of each change.
type counter struct {
	change func(ctx context.Context, number int) error

	mu        sync.Mutex // guards changedAt
	changedAt []time.Time
}

func startCounter(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) *counter {
	t.Helper()
	api := controlPlane.Client.CoreV1().ConfigMaps(namespace)
	kit.ConfigMapsIn(ctx, t, controlPlane, namespace).Create(counterName, nil)
	t.Cleanup(func() { _ = api.Delete(context.WithoutCancel(ctx), counterName, metav1.DeleteOptions{}) })
	return &counter{change: func(ctx context.Context, number int) error {
		patch := fmt.Sprintf(`{"data":{%q:"%d"}}`, counterKey, number)
		_, err := api.Patch(ctx, counterName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}}
}

// followed returns streams that watch the counter until the context ends.
func (c *counter) followed(ctx context.Context, t *testing.T, namespace string, balancer *harness.Proxy) ([]*countingStream, *sync.WaitGroup) {
	t.Helper()
	var clients []kit.ResourceClient
	for range rolledConnections {
		clients = append(clients, harness.Dial(harness.HTTP2(t), "http://"+balancer.Address(), harness.Connect).Resources)
	}
	streams, following := make([]*countingStream, rolledStreams), &sync.WaitGroup{}
	for i := range streams {
		streams[i] = &countingStream{client: clients[i%len(clients)], counter: c}
		following.Go(func() { streams[i].follow(ctx, namespace) })
	}
	return streams, following
}

// count makes more changes, and blocks until all streams have seen the last one.
func (c *counter) count(ctx context.Context, t *testing.T, more int, streams []*countingStream) {
	t.Helper()
	for range more {
		if err := c.change(ctx, c.begin()); err != nil {
			t.Fatal(err)
		}
		kit.Last(ctx, rolledChange)
	}
	kit.Eventually(ctx, t, "all streams have seen the last change", func() error {
		if missing := slices.IndexFunc(streams, func(s *countingStream) bool { return s.hasSeen() < len(c.changedAt) }); missing >= 0 {
			return fmt.Errorf("stream %d has not seen it", missing)
		}
		return nil
	})
}

// begin records the next change and returns its number, from 1.
func (c *counter) begin() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changedAt = append(c.changedAt, time.Now())
	return len(c.changedAt)
}

// begunAt returns the time at which a change was started.
func (c *counter) begunAt(number int) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changedAt[number-1]
}

// countingStream watches the counter in all its calls, as a client does that resumes.
type countingStream struct {
	client  kit.ResourceClient
	counter *counter

	// Owned by follow until it has returned.
	token   string
	resets  int
	resumed int
	behind  time.Duration // maximum delay
	errors  []string      // errors of calls, except the end of a replica

	mu   sync.Mutex // guards seen
	seen int        // number of the last change
}

func (s *countingStream) hasSeen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *countingStream) follow(ctx context.Context, namespace string) {
	for ctx.Err() == nil {
		err := s.call(ctx, namespace)
		if ctx.Err() == nil && connect.CodeOf(err) != connect.CodeUnavailable {
			s.errors = append(s.errors, fmt.Sprint(err))
		}
		kit.Last(ctx, kit.PollInterval)
	}
}

func (s *countingStream) call(ctx context.Context, namespace string) error {
	stream, err := responses.Of(s.client.Watch(ctx, &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: counterName, ResumeToken: s.token, Encoding: kubeconnectv1.Encoding_ENCODING_JSON,
	}))
	if err != nil {
		return err
	}
	defer stream.Close()
	for resumes := s.token != ""; stream.Receive(); resumes = false {
		if resumes {
			s.resumed++
		}
		s.token = stream.Msg().GetResumeToken()
		for _, event := range stream.Msg().GetEvents() {
			s.read(event)
		}
	}
	return stream.Err()
}

func (s *countingStream) read(event *kubeconnectv1.Event) {
	if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
		s.resets++
	}
	_, text, _ := strings.Cut(string(event.GetObject().GetJson()), fmt.Sprintf("%q:\"", counterKey))
	text, _, _ = strings.Cut(text, `"`)
	number, err := strconv.Atoi(text)
	if err != nil || number <= s.seen {
		return
	}
	if s.seen > 0 {
		s.behind = max(s.behind, time.Since(s.counter.begunAt(s.seen+1)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = number
}
