package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// soakFaults is how many faults there are at most in one round.
	soakFaults = 3
	// soakGrowth is what the memory of a replica may grow by after soakWarmUp rounds.
	soakGrowth = 128 << 20
	soakWarmUp = 5
	// soakRound is how long one round may take on a busy machine.
	soakRound = 10 * time.Minute
)

// TestSoak runs random traffic and random faults for as long as SOAK says, such as
// 10m, in rounds. At the end of each, every stream must be right from its beginning on.
// With SEED it makes the same choices again.
func TestSoak(t *testing.T) {
	lasts, soaking := soakFor(t)
	if !soaking {
		t.Skip("SOAK says for how long, such as SOAK=10m")
	}
	s := newSoak(t)
	summary := time.NewTicker(time.Minute)
	defer summary.Stop()
	for until := time.Now().Add(lasts); time.Now().Before(until); s.rounds++ {
		if !t.Run(fmt.Sprintf("round %d", s.rounds), s.round) {
			t.Fatalf("round %d went wrong; %s", s.rounds, s)
		}
		select {
		case <-summary.C:
			t.Log(s)
		default:
		}
	}
	t.Log(s)
	for i, samples := range s.memory {
		for _, violation := range validate.Memory(fmt.Sprintf("callers of replica %d", i), samples[min(soakWarmUp, len(samples)):], soakGrowth) {
			t.Error(violation)
		}
	}
}

// soak is two replicas before one control plane, each behind a link of its own.
type soak struct {
	t        *testing.T
	seed     uint64
	rnd      *rand.Rand
	in       *harness.Cluster
	stage    stage
	links    []*harness.Proxy
	replicas []*harness.Service

	began  time.Time
	rounds int
	faults int
	told   tally
	memory [][]validate.Sample // of each replica
}

func newSoak(t *testing.T) *soak {
	ctx := deadline(t)
	in := shakyCluster(t)
	s := &soak{t: t, seed: newSeed(t), in: in, stage: newStage(ctx, t, in), began: time.Now(), memory: make([][]validate.Sample, 2)}
	s.rnd = rand.New(rand.NewPCG(s.seed, 0))
	for range s.memory {
		link := harness.StartProxy(t, in.Address(), harness.None)
		s.links = append(s.links, link)
		s.replicas = append(s.replicas, harness.StartService(t, harness.KubeconfigTo(t, in.Kubeconfig, link.Address())))
	}
	return s
}

// round is traffic and followers, and a few faults, one after another. In some rounds
// callers wander between the replicas, in others they stay at one.
func (s *soak) round(t *testing.T) {
	ctx := deadlineAfter(t, soakRound)
	chosen, where := s.replicas, validate.Anywhere // who comes to a replica that was away
	names := []string{"wandering"}
	if stays := s.rnd.IntN(2 * len(s.replicas)); stays < len(s.replicas) {
		chosen, where, names = s.replicas[stays:stays+1], validate.AfterResume, []string{fmt.Sprintf("staying at %d", stays)}
	}
	crew := newCrew(ctx, t, s.stage, s.rnd.Uint64(), callersOf(t, chosen...)...)
	crew.atWork(ctx, busy)
	for range 1 + s.rnd.IntN(soakFaults) {
		name, strike := s.anyFault()
		names = append(names, name)
		strike(ctx, t)
		s.faults++
		crew.atWork(ctx, busy)
	}
	crew.catchUp(where)
	told := crew.finish(ctx, validate.Evidence{})
	s.told.add(told)
	t.Logf("%s: %s", strings.Join(names, ", "), told)
	s.settle(ctx, t, crew)
}

// settle waits until both replicas have all that was written, for the next round knows
// nothing from before.
func (s *soak) settle(ctx context.Context, t *testing.T, crew *crew) {
	for i, replica := range s.replicas {
		client := harness.Dial(harness.HTTP2(t), replica.Address, harness.Connect).Resources
		for _, cast := range crew.casts {
			request := &kubeconnectv1.ListRequest{
				Resource: cast.resource.Name(), Namespace: s.stage.namespaces[0], MinResourceVersion: cast.traffic.Writes.Newest(),
			}
			eventually(ctx, t, "the replica has all that was written", func() error {
				_, err := client.List(ctx, request)
				return err
			})
		}
		s.memory[i] = append(s.memory[i], validate.Sample{At: time.Now(), Bytes: residentMemory(t, replica.PID())})
	}
}

// anyFault is one of all that can fail.
func (s *soak) anyFault() (name string, strike func(context.Context, *testing.T)) {
	components := map[string]harness.Component{"the API server": s.in.APIServer(), "etcd": s.in.Etcd()}
	which := []string{"the API server", "etcd"}[s.rnd.IntN(2)]
	link := s.links[s.rnd.IntN(len(s.links))]
	switch s.rnd.IntN(8) {
	case 0:
		return which + " killed", func(ctx context.Context, t *testing.T) { kill(ctx, t, components[which]) }
	case 1, 2:
		lasts := faultLasts
		if s.rnd.IntN(6) == 0 {
			lasts = longFreeze
		}
		return fmt.Sprintf("%s frozen for %v", which, lasts), func(ctx context.Context, t *testing.T) {
			freeze(ctx, t, components[which], lasts)
		}
	case 3:
		return "link reset", func(context.Context, *testing.T) { link.Cut() }
	}
	faults := map[harness.Fault]string{
		harness.Refused: "refused", harness.Dropped: "dropped", harness.Frozen: "half-open", harness.Slow: "slow", harness.Torn: "torn",
	}
	fault := harness.Refused + harness.Fault(s.rnd.IntN(len(faults)))
	return "link " + faults[fault], func(ctx context.Context, _ *testing.T) { fail(ctx, link, fault) }
}

func (s *soak) String() string {
	memory := ""
	for _, samples := range s.memory {
		if len(samples) > 0 {
			memory += fmt.Sprintf(" %d", samples[len(samples)-1].Bytes>>20)
		}
	}
	return fmt.Sprintf("SEED=%d, %v, %d rounds, %d faults: %s; memory of the replicas, in MiB:%s",
		s.seed, time.Since(s.began).Round(time.Second), s.rounds, s.faults, s.told, memory)
}
