package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// stormRounds is the number of times that everything is compared.
	stormRounds = 3
	// stormFaults is the number of faults before that.
	stormFaults = 4
	// stormObjects is the number of names in each namespace.
	stormObjects = 20
)

// TestTypeScript_StoresAreTrueAmidFaults follows and leaves stores, pages and counts at random, while the
// objects change, connections are cut and stall, and the service is killed. The program checks what the
// stores promise after each change, and compares them with lists when the objects have stopped changing. It
// must end by itself when it has left all of them.
func TestTypeScript_StoresAreTrueAmidFaults(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "connect", "web"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, time.Duration(kit.Rounds(t))*kit.FaultPatience)
			storm := newStorm(ctx, t, protocol)
			for round := range kit.Rounds(t) * stormRounds {
				stop := storm.write(ctx)
				for range stormFaults {
					storm.fault(ctx)
				}
				stop()
				storm.check(ctx, fmt.Sprint(round))
			}
			storm.control.Patch("control", map[string]any{"data": map[string]any{"round": "end"}})
			storm.program.Ends(ctx)
		})
	}
}

// storm is a program behind a link that fails.
type storm struct {
	t          *testing.T
	rnd        *rand.Rand
	namespaces []string
	service    *harness.Service
	link       *harness.Proxy
	control    kit.ConfigMaps
	program    program
}

func newStorm(ctx context.Context, t *testing.T, protocol string) *storm {
	t.Helper()
	s := &storm{t: t, rnd: rand.New(rand.NewPCG(kit.NewSeed(t), 0))}
	for range 2 {
		s.namespaces = append(s.namespaces, kit.NewNamespace(ctx, t, kit.Cluster(t)))
	}
	s.service = harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	s.link = harness.StartProxy(t, kit.HostPort(s.service), harness.None)
	s.control = kit.ConfigMapsIn(ctx, t, kit.Cluster(t), s.namespaces[0])
	s.control.Create("control", nil)
	s.control.Patch("control", map[string]any{"data": map[string]any{"round": ""}})
	reliable := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	s.program = startProgram(t, kit.NodeProgram(t, "node", "livestorm.mjs"), protocol, "http://"+s.link.Address(), reliable.Address, s.namespaces[0])
	s.program.Step(ctx, "ready", &struct{}{})
	return s
}

// write changes objects until stop is called.
func (s *storm) write(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	for range 2 {
		rnd := rand.New(rand.NewPCG(s.rnd.Uint64(), 0))
		writing.Go(func() {
			for ctx.Err() == nil {
				s.change(ctx, rnd)
				kit.Last(ctx, kit.WriterPause)
			}
		})
	}
	return func() { cancel(); writing.Wait() }
}

// change creates, changes, deletes or recreates an object. It fails if another writer was faster.
func (s *storm) change(ctx context.Context, rnd *rand.Rand) {
	api := kit.Cluster(s.t).Client.CoreV1().ConfigMaps(s.namespaces[rnd.IntN(len(s.namespaces))])
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("object-%d", rnd.IntN(stormObjects)),
			Labels: kit.Labels{"of": s.namespaces[0], "color": []string{"red", "green", "blue"}[rnd.IntN(3)]},
		},
		Data: map[string]string{"number": fmt.Sprint(rnd.IntN(100))},
	}
	if rnd.IntN(3) == 0 {
		_ = api.Delete(ctx, object.Name, metav1.DeleteOptions{})
		if rnd.IntN(2) == 0 {
			return
		}
	}
	if _, err := api.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		_, _ = api.Create(ctx, object, metav1.CreateOptions{})
	}
}

// fault makes the link or the service fail for a moment.
func (s *storm) fault(ctx context.Context) {
	s.t.Helper()
	moment := func() { kit.Last(ctx, time.Duration(s.rnd.IntN(1000))*time.Millisecond) }
	moment()
	switch chance := s.rnd.IntN(8); chance {
	case 0:
		s.service.Crash()
		moment()
		s.service = harness.StartMortalService(s.t, kit.Cluster(s.t).Kubeconfig, kit.HostPort(s.service))
	case 1, 2:
		s.link.Cut()
	default:
		s.link.Set([]harness.Fault{harness.Refused, harness.Dropped, harness.Frozen, harness.Muted, harness.Torn}[chance-3])
		moment()
		s.link.Set(harness.None)
	}
}

// check blocks until the program has what lists return, and its promises have settled.
func (s *storm) check(ctx context.Context, round string) {
	s.t.Helper()
	s.control.Patch("control", map[string]any{"data": map[string]any{"round": round}})
	last := ""
	line, err := s.program.Process.UntilPrints(ctx, func(line string) bool {
		last = line
		var printed struct{ Step, Round string }
		return json.Unmarshal([]byte(line), &printed) == nil && printed.Step == "checked" && printed.Round == round
	})
	if err != nil {
		s.t.Fatalf("%v; the last line is %s", err, last)
	}
	var checked struct {
		CheckedCount int
		Problems     []string
	}
	if err := json.Unmarshal([]byte(line), &checked); err != nil {
		s.t.Fatal(err)
	}
	if checked.CheckedCount == 0 {
		s.t.Error("no snapshots were checked")
	}
	for _, problem := range checked.Problems {
		s.t.Error(problem)
	}
}
