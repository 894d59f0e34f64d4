package limits_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// noisyMemory is the memory limit of the service, and bounds its memory during an attack, as
	// the operating system counts it. The attacker's objects have noisyObjects*noisySize bytes.
	noisyMemory  = 512 << 20
	noisyObjects = 2_000
	noisySize    = 3 << 10
	// noisyLasts is the duration of each attack, and noisySoakLasts that under `make soak`.
	noisyLasts     = 3 * time.Second
	noisySoakLasts = 20 * time.Second
	// noisyDelay bounds the factor by which the 99th percentile of the good caller's calls grows
	// during an attack. It is checked only under `make soak`.
	noisyDelay = 5
	// noisyRest is the attacker's pause after a rejection: it ignores the retry delay of the error.
	noisyRest = 10 * time.Millisecond
	// unreadWatches is the number of unread watches on each of unreadConnections.
	unreadConnections, unreadWatches = 2, 150
)

// attack is a call that an attacker makes with a number of concurrent workers.
type attack struct {
	workers int
	call    func(a *attacker, ctx context.Context, worker int) error
}

var attacks = map[string]attack{
	"lists with an expensive filter":   {100, (*attacker).filterOf},
	"a repetitive label selector":      {4, (*attacker).repeatedSelector},
	"schemas":                          {100, (*attacker).schemas},
	"many questions about permissions": {60, (*attacker).questions},
	"live lists":                       {50, (*attacker).latest},
	"complete lists, some cancelled":   {50, (*attacker).wholeLists},
	"unfinished lists":                 {20, (*attacker).unfinishedLists},
}

// attacker is a caller with permissions only in its own namespace.
type attacker struct {
	clients   harness.Clients
	namespace string

	answered chan struct{} // closed when the first call has returned

	mu    sync.Mutex // guards codes
	codes map[string]int
}

// TestNoisyNeighbor_OtherCallersSeeLittleDelay makes one caller attack the service, in one way
// after another, while another one calls as before.
func TestNoisyNeighbor_OtherCallersSeeLittleDelay(t *testing.T) {
	t.Parallel()
	skipWithout(t, floodAddress)
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	service := kit.StartForCallers(t, "--memory-limit", fmt.Sprint(noisyMemory))
	good, order := newGoodCaller(ctx, t, service), attackOn(ctx, t, service)
	lasts := noisyLasts
	if _, soaking := kit.SoakFor(t); soaking {
		lasts = noisySoakLasts
	}
	before := good.callFor(ctx, lasts)
	before.wantServed(t)
	t.Logf("before: %s; %d MiB", before, kit.ResidentMemory(t, service.PID())>>20)
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		t.Run(name, func(t *testing.T) {
			order.Attack = name
			process := startAttack(ctx, t, order)
			good.wantLittleDelay(ctx, t, service, lasts, before, process.attack)
			wantCodes(t, process.codes)
		})
	}
	t.Run("unread watches", func(t *testing.T) {
		good.wantLittleDelay(ctx, t, service, lasts, before, func(ctx context.Context) { order.unreadWatches(ctx, t, service) })
	})
}

// attackOn returns an attacker: a caller with many objects in a namespace of its own.
func attackOn(ctx context.Context, t *testing.T, service *harness.Service) attackOrder {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RemoveAtEnd(ctx, t, namespace)
	manySecrets(ctx, t, namespace, noisyObjects, noisySize)
	account := kit.NewAccount(ctx, t, namespace, "attacker")
	account.GrantIn(namespace, "attacker", kit.Rule("secrets", "get", "list", "watch"))
	order := attackOrder{Address: service.Address, Namespace: namespace, Token: account.Token()}
	a := newAttackerAt(t, order)
	kit.Eventually(ctx, t, "the attacker has its permissions", func() error {
		_, err := a.clients.Resources.Count(ctx, &kubeconnectv1.CountRequest{Resource: "secrets", Namespace: namespace})
		return err
	})
	return order
}

// wantCodes fails the test for results that an attacker must not get.
func wantCodes(t *testing.T, codes map[string]int) {
	t.Helper()
	t.Logf("attacker: %v", codes)
	for code := range codes {
		if !slices.Contains(noisyCodes, code) {
			t.Errorf("the attacker got %s, want one of %v", code, noisyCodes)
		}
	}
	if len(codes) == 0 {
		t.Error("the attacker got no response")
	}
}

// noisyCodes are the results that the attacker is allowed to get.
var noisyCodes = []string{"ok", "left", "reset", connect.CodeResourceExhausted.String(), connect.CodeInvalidArgument.String()}

// run attacks until ctx ends.
func (a *attacker) run(ctx context.Context, attack attack) {
	var calling sync.WaitGroup
	for worker := range attack.workers {
		calling.Go(func() {
			for ctx.Err() == nil {
				a.count(ctx, attack.call(a, ctx, worker))
			}
		})
	}
	calling.Wait()
}

// count records a result. Calls that the attacker has cancelled do not count.
func (a *attacker) count(ctx context.Context, err error) {
	code := "ok"
	switch {
	case ctx.Err() != nil:
		return
	case connect.CodeOf(err) == connect.CodeDeadlineExceeded || connect.CodeOf(err) == connect.CodeCanceled:
		code = "left"
	case err != nil && strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer"):
		code = "reset" // on a busy machine the attacker has not read its response for three seconds
	case err != nil:
		code = connect.CodeOf(err).String()
		time.Sleep(noisyRest)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.codes) == 0 {
		close(a.answered)
	}
	a.codes[code]++
}

// expensiveFilter has a thousand evaluations for each object.
const expensiveFilter = `[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, a + b + c >= 0 && object.metadata.name != "")))`

func (a *attacker) list() *kubeconnectv1.ListRequest {
	return &kubeconnectv1.ListRequest{Resource: "secrets", Namespace: a.namespace}
}

func (a *attacker) filterOf(ctx context.Context, worker int) error {
	request := a.list()
	request.Filter, request.PageSize = fmt.Sprintf("%s && object.metadata.name != 'none-%d'", expensiveFilter, worker), 1
	_, err := a.clients.Resources.List(ctx, request)
	return err
}

// repeatedSelector repeats one requirement thousands of times, in a list or a watch.
func (a *attacker) repeatedSelector(ctx context.Context, worker int) error {
	selector := strings.TrimSuffix(strings.Repeat("app in (x,y),", 4_999), ",")
	if worker%2 == 0 {
		request := a.list()
		request.LabelSelector, request.PageSize = selector, 1
		_, err := a.clients.Resources.List(ctx, request)
		return err
	}
	return kit.WatchError(ctx, a.clients.Resources, &kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: a.namespace, LabelSelector: selector, MetadataOnly: true})
}

func (a *attacker) schemas(ctx context.Context, _ int) error {
	_, err := a.clients.Discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "pods"})
	return err
}

// questions queries permissions that no caller has queried before.
func (a *attacker) questions(ctx context.Context, _ int) error {
	request := &kubeconnectv1.CheckAccessRequest{}
	for range 100 {
		request.Checks = append(request.Checks, &kubeconnectv1.AccessCheck{
			Verb: "get", Resource: "secrets", Namespace: a.namespace, Name: fmt.Sprint("none-", rand.Uint64()),
		})
	}
	_, err := a.clients.Access.CheckAccess(ctx, request)
	return err
}

func (a *attacker) latest(ctx context.Context, _ int) error {
	request := a.list()
	request.Consistency, request.Encoding = kubeconnectv1.Consistency_CONSISTENCY_LATEST, kubeconnectv1.Encoding_ENCODING_PROTOBUF
	_, err := a.clients.Resources.List(ctx, request)
	return err
}

// wholeLists cancels every second list soon.
func (a *attacker) wholeLists(ctx context.Context, worker int) error {
	if worker%2 == 0 {
		leaving, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		ctx = leaving
	}
	_, err := a.clients.Resources.List(ctx, a.list())
	return err
}

func (a *attacker) unfinishedLists(ctx context.Context, _ int) error {
	request := a.list()
	request.PageSize, request.MetadataOnly = 1, true
	_, err := a.clients.Resources.List(ctx, request)
	return err
}

// enveloped returns a message of a stream in the framing of gRPC and Connect.
func enveloped(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// wantLittleDelay compares the service that the good caller receives, and the memory of the
// service, with their bounds during an attack.
func (g *goodCaller) wantLittleDelay(ctx context.Context, t *testing.T, service *harness.Service, lasts time.Duration, before goodService, attack func(context.Context)) {
	t.Helper()
	memory := sampleMemory(t, service)
	seen := g.during(ctx, lasts, attack)
	most := memory.end()
	seen.wantServed(t)
	ratio := float64(seen.percentile(99, "")) / float64(max(before.percentile(99, ""), 1))
	t.Logf("good caller: %s (p99 %.1f times as long as before); %d MiB", seen, ratio, most>>20)
	if _, soaking := kit.SoakFor(t); soaking && ratio > noisyDelay {
		t.Errorf("p99 is %.1f times as long as before, want at most %d", ratio, noisyDelay)
	}
	if most > noisyMemory {
		t.Errorf("the service uses %d MiB, want at most %d", most>>20, noisyMemory>>20)
	}
	g.untilServedAsBefore(ctx, t)
}

// untilServedAsBefore blocks until the service has finished the work of the attack.
func (g *goodCaller) untilServedAsBefore(ctx context.Context, t *testing.T) {
	t.Helper()
	kit.Eventually(ctx, t, "the good caller is served after the attack", func() error { _, err := g.round(ctx); return err })
}

// unreadWatches opens watches, and reads nothing from them.
func (o attackOrder) unreadWatches(ctx context.Context, t *testing.T, service *harness.Service) {
	message, err := proto.Marshal(&kubeconnectv1.WatchRequest{Resource: "secrets", Namespace: o.Namespace})
	if err != nil {
		t.Error(err)
		return
	}
	for range unreadConnections {
		conn := dialRaw(t, service)
		defer conn.close()
		for range unreadWatches {
			if conn.post(service, kit.WatchPath, enveloped(message), "content-type", "application/grpc+proto", "te", "trailers", "authorization", "Bearer "+o.Token) != nil {
				break // the service has closed the connection, which is allowed
			}
		}
	}
	<-ctx.Done()
}
