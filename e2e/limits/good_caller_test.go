package limits_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// goodObjects is the number of ConfigMaps of a good caller, and goodPage the number of them
	// that it reads at a time.
	goodObjects = 20
	goodPage    = 5
	// goodRest is the pause of a good caller after its calls.
	goodRest = 20 * time.Millisecond
	// goodPageRest is its pause between two pages of a list.
	goodPageRest = time.Second
)

// goodPatience bounds how long a good caller waits for a response.
var goodPatience = harness.Patience(10 * time.Second)

// goodCaller calls the service repeatedly, with permissions only in its own namespace.
type goodCaller struct {
	t         *testing.T
	clients   harness.Clients
	namespace string

	// Owned by the goroutine that calls.
	rounds    int
	pageToken string // the next page of its list
	pageSince time.Time
}

// newGoodCaller returns a caller with permission to read a namespace of its own.
func newGoodCaller(ctx context.Context, t *testing.T, service *harness.Service) *goodCaller {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RemoveAtEnd(ctx, t, namespace)
	for i := range goodObjects {
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(fmt.Sprintf("good-%02d", i), kit.Labels{"good": "yes"})
	}
	account := kit.NewAccount(ctx, t, namespace, "good")
	account.GrantIn(namespace, "good", kit.Rule("configmaps", "get", "list", "watch"))
	g := &goodCaller{t: t, clients: account.Calling(service, harness.GRPC), namespace: namespace}
	kit.Eventually(ctx, t, "the good caller has its permissions", func() error { _, err := g.round(ctx); return err })
	return g
}

// goodCall is one of the good caller's calls.
type goodCall struct {
	name string
	call func(context.Context) error
}

// calls returns the calls of a round. Each round checks a permission that no earlier round has
// checked, and continues a list that the previous round has started.
func (g *goodCaller) calls() []goodCall {
	return []goodCall{
		{"WhoAmI", func(ctx context.Context) error {
			_, err := g.clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
			return err
		}},
		{"Get", func(ctx context.Context) error {
			_, err := g.clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: g.namespace, Name: "good-00"})
			return err
		}},
		{"CheckAccess", func(ctx context.Context) error {
			_, err := g.clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
				{Verb: "get", Resource: "configmaps", Namespace: g.namespace, Name: fmt.Sprint("new-", g.rounds)},
			}})
			return err
		}},
		{"List", g.list},
		{"Watch", g.watch},
	}
}

// list continues its list if the previous page is old enough, and reads a first page otherwise.
func (g *goodCaller) list(ctx context.Context) error {
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: g.namespace, LabelSelector: "good=yes", PageSize: goodPage}
	continuesResponse := g.pageToken == "" || time.Since(g.pageSince) > goodPageRest
	if continuesResponse {
		request.PageToken, g.pageToken = g.pageToken, ""
	}
	page, err := g.clients.Resources.List(ctx, request)
	if err != nil {
		return err
	}
	if len(page.GetObjects()) != goodPage {
		return fmt.Errorf("a page has %d objects, want %d", len(page.GetObjects()), goodPage)
	}
	if continuesResponse {
		g.pageToken, g.pageSince = page.GetNextPageToken(), time.Now()
	}
	return nil
}

func (g *goodCaller) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(g.clients.Resources.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: g.namespace}))
	if err != nil {
		return err
	}
	defer func() { cancel(); _ = stream.Close() }()
	for stream.Receive() {
		for _, event := range stream.Msg().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return nil
			}
		}
	}
	return stream.Err()
}

// round makes each call once and returns the duration of each.
func (g *goodCaller) round(ctx context.Context) (took []goodAnswer, err error) {
	g.rounds++
	for _, one := range g.calls() {
		began := time.Now()
		calling, cancel := context.WithTimeout(ctx, goodPatience)
		err := one.call(calling)
		cancel()
		if err != nil {
			return took, fmt.Errorf("%s after %v: %w", one.name, time.Since(began).Round(time.Millisecond), err)
		}
		took = append(took, goodAnswer{one.name, time.Since(began)})
	}
	return took, nil
}

// goodService is the service that a good caller has received for some time.
type goodService struct {
	took   []goodAnswer
	errors []error
}

// goodAnswer is the duration of a call.
type goodAnswer struct {
	call string
	took time.Duration
}

// callFor calls until the time is over.
func (g *goodCaller) callFor(ctx context.Context, lasts time.Duration) (seen goodService) {
	for until := time.Now().Add(lasts); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(goodRest) {
		took, err := g.round(ctx)
		seen.took = append(seen.took, took...)
		if err != nil {
			seen.errors = append(seen.errors, err)
		}
	}
	return seen
}

// callWhile calls while do runs, and at least one round.
func (g *goodCaller) callWhile(ctx context.Context, do func()) (seen goodService) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		took, err := g.round(ctx)
		seen.took = append(seen.took, took...)
		if err != nil {
			seen.errors = append(seen.errors, err)
		}
		select {
		case <-done:
			return seen
		case <-time.After(goodRest):
		}
	}
}

// during calls during an attack, and returns the service that the good caller has received.
func (g *goodCaller) during(ctx context.Context, lasts time.Duration, attack func(context.Context)) (seen goodService) {
	attacking, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { attack(attacking) })
	seen = g.callFor(ctx, lasts)
	cancel()
	group.Wait()
	return seen
}

// percentile returns the duration within which the given percentage of calls was answered: of all
// calls, or of those with a name.
func (s goodService) percentile(percent int, call string) time.Duration {
	var sorted []time.Duration
	for _, answer := range s.took {
		if call == "" || answer.call == call {
			sorted = append(sorted, answer.took)
		}
	}
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func (s goodService) String() string {
	text := fmt.Sprintf("%d calls, p50 %v, p99", len(s.took), s.percentile(50, "").Round(time.Microsecond))
	for _, call := range []string{"", "WhoAmI", "Get", "CheckAccess", "List", "Watch"} {
		text += fmt.Sprintf(" %s %v", call, s.percentile(99, call).Round(time.Microsecond))
	}
	return text
}

// wantServed reports each error that the good caller received, and fails the test if it received
// hardly any response.
func (s goodService) wantServed(t *testing.T) {
	t.Helper()
	for _, err := range s.errors[:min(len(s.errors), 3)] {
		t.Errorf("good caller: %v", err)
	}
	if len(s.took) == 0 {
		t.Error("the good caller received hardly any response")
	}
}

// manySecrets creates Secrets with labels in a namespace.
func manySecrets(ctx context.Context, t *testing.T, namespace string, count, size int) {
	t.Helper()
	api := kit.Cluster(t).Client.CoreV1().Secrets(namespace)
	err := kit.CreateMany(ctx, count, func(ctx context.Context, i int) error {
		_, err := api.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("secret-%05d", i), Labels: kit.Labels{"app": []string{"x", "y"}[i%2]}},
			Data:       map[string][]byte{"filling": make([]byte, size)},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
