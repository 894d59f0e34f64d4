package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// soakReplicas is the number of replicas. The first one is never ended.
	soakReplicas = 3
	// soakFaults is the maximum number of faults in one round.
	soakFaults = 3
	// soakGrowth bounds the growth of a replica's memory in the last two thirds of its life, once
	// it has lived for soakSamples rounds; soakHandles that of its goroutines and open files.
	soakGrowth  = 128 << 20
	soakHandles = 40
	soakSamples = 6
	// soakRound bounds the duration of one round.
	soakRound = 10 * time.Minute
)

// soakCluster compacts its history early, and lets Events expire while streams are open.
var soakCluster = kit.Shared("--apiserver-arg", "etcd-compaction-interval=20s", "--apiserver-arg", "event-ttl=40s")

// TestSoak_StreamsStayCorrect runs random traffic and random faults in rounds, for the duration in
// SOAK, such as 10m. At the end of each round, every stream must be correct from its beginning.
// SEED repeats the choices of a run.
func TestSoak_StreamsStayCorrect(t *testing.T) {
	lasts, soaking := kit.SoakFor(t)
	if !soaking {
		t.Skip("set SOAK to a duration, such as SOAK=10m")
	}
	s := newSoak(t)
	t.Cleanup(s.reportEvery(time.Minute))
	for until := time.Now().Add(lasts); time.Now().Before(until); s.count(func() { s.rounds++ }) {
		if !t.Run(fmt.Sprintf("round %d", s.rounds), s.round) {
			t.Fatalf("round %d failed; %s", s.rounds, s)
		}
	}
	t.Log(s)
	for _, replica := range s.replicas {
		for _, samples := range replica.lives {
			if len(samples) < soakSamples {
				continue
			}
			callers, last := "clients of "+replica.name, samples[len(samples)/3:]
			for _, violation := range append(validate.Memory(callers, last, soakGrowth), validate.Handles(callers, last, soakHandles)...) {
				t.Error(violation)
			}
		}
	}
}

// soak is a number of replicas of one control plane, each with a link of its own.
type soak struct {
	// Set once.
	t            *testing.T
	seed         uint64
	rnd          *rand.Rand
	controlPlane *harness.Cluster
	testbed      kit.Testbed
	replicas     []*replica
	began        time.Time

	mu     sync.Mutex // guards the fields below
	rounds int
	faults map[string]int // number of faults by name
	total  kit.Tally
}

// replica is a service that can end, and restart at the same address.
type replica struct {
	t          *testing.T
	name       string
	link       *harness.Proxy
	kubeconfig string
	service    *harness.Service
	lives      [][]validate.Sample // what it used, by start
}

func newSoak(t *testing.T) *soak {
	ctx := kit.Deadline(t)
	controlPlane := soakCluster(t)
	s := &soak{t: t, seed: kit.NewSeed(t), controlPlane: controlPlane, testbed: kit.NewTestbed(ctx, t, controlPlane), began: time.Now(), faults: map[string]int{}}
	s.testbed.Resources = append(s.testbed.Resources, traffic.Events)
	s.rnd = rand.New(rand.NewPCG(s.seed, 0))
	for i := range soakReplicas {
		link := harness.StartProxy(t, controlPlane.Address(), harness.None)
		r := &replica{t: t, name: fmt.Sprintf("replica %d", i), link: link, kubeconfig: harness.KubeconfigTo(t, controlPlane.Kubeconfig, link.Address())}
		r.start("127.0.0.1:0")
		s.replicas = append(s.replicas, r)
	}
	return s
}

// start starts the service at an address, HOST:PORT.
func (r *replica) start(address string) {
	r.service = harness.StartMortalService(r.t, r.kubeconfig, address, kit.MetricsFlags...)
	r.lives = append(r.lives, nil)
}

// restart starts the service at its previous address, after it has ended.
func (r *replica) restart() { r.start(kit.HostPort(r.service)) }

// sample records what the service uses, when no stream is open.
func (r *replica) sample(ctx context.Context, t *testing.T) {
	t.Helper()
	series := kit.ScrapeOf(ctx, t, r.service).Series
	life := &r.lives[len(r.lives)-1]
	*life = append(*life, validate.Sample{
		At:         time.Now(),
		Bytes:      kit.ResidentMemory(t, r.service.PID()),
		Goroutines: int(series["go_goroutines{}"]),
		Files:      int(series["process_open_fds{}"]),
		Live:       int(series["go_memstats_next_gc_bytes{}"]) / 2, // the heap may double before garbage is collected
	})
}

// round runs traffic and followers, and a few faults, one after another. In some rounds clients
// move between the replicas, in others they stay at one.
func (s *soak) round(t *testing.T) {
	ctx := kit.DeadlineAfter(t, soakRound)
	chosen, where := s.replicas, validate.Anywhere // a client may move to a replica that was disconnected
	names := []string{"wandering"}
	if stays := s.rnd.IntN(2 * len(s.replicas)); stays < len(s.replicas) {
		chosen, where, names = s.replicas[stays:stays+1], validate.AfterResume, []string{"staying at " + s.replicas[stays].name}
	}
	var services []*harness.Service
	for _, replica := range chosen {
		services = append(services, replica.service)
	}
	group := kit.NewTrafficGroup(ctx, t, s.testbed, s.rnd.Uint64(), kit.WatchClients(t, services...)...)
	group.AtWork(ctx, kit.BusyWrites)
	for range 1 + s.rnd.IntN(soakFaults) {
		fault := s.anyFault()
		names = append(names, fault.name)
		if fault.restarts {
			where = validate.Anywhere // a replica that was just started may be older
		}
		fault.strike(ctx, t)
		s.count(func() { s.faults[fault.kind]++ })
		group.AtWork(ctx, kit.BusyWrites)
	}
	group.CatchUp(where)
	total := group.Finish(ctx, validate.Evidence{})
	s.count(func() { s.total.Add(total) })
	t.Logf("%s: %s", strings.Join(names, ", "), total)
	s.settle(ctx, t, group)
}

// settle blocks until all replicas have all writes, because the next round does not know the
// earlier ones.
func (s *soak) settle(ctx context.Context, t *testing.T, group *kit.TrafficGroup) {
	for _, replica := range s.replicas {
		client := harness.Dial(harness.HTTP2(t), replica.service.Address, harness.Connect).Resources
		for _, load := range group.Resources {
			request := &kubeconnectv1.ListRequest{
				Resource: load.Resource.Name(), Namespace: s.testbed.Namespaces[0], MinResourceVersion: load.Traffic.Writes.Newest(),
			}
			kit.Eventually(ctx, t, "the replica has all writes", func() error {
				_, err := client.List(ctx, request)
				return err
			})
		}
		s.count(func() { replica.sample(ctx, t) })
	}
}

// fault is something that fails for a while.
type fault struct {
	name, kind string
	restarts   bool // whether a replica is restarted
	strike     func(context.Context, *testing.T)
}

// anyFault chooses one of all faults.
func (s *soak) anyFault() fault {
	switch s.rnd.IntN(3) {
	case 0:
		return s.faultOfTheControlPlane()
	case 1:
		return s.faultOfAReplica()
	}
	return s.faultOfALink()
}

func (s *soak) faultOfTheControlPlane() fault {
	name, component := "the API server", s.controlPlane.APIServer()
	if s.rnd.IntN(2) == 0 {
		name, component = "etcd", s.controlPlane.Etcd()
	}
	if s.rnd.IntN(3) == 0 {
		return fault{name: name + " killed", kind: name + " killed", strike: func(ctx context.Context, t *testing.T) {
			kit.Kill(ctx, t, s.controlPlane, component)
		}}
	}
	lasts := kit.FaultDuration
	if s.rnd.IntN(6) == 0 {
		lasts = kit.LongFreeze
	}
	return fault{name: fmt.Sprintf("%s frozen for %v", name, lasts), kind: name + " frozen", strike: func(ctx context.Context, t *testing.T) {
		kit.Freeze(ctx, t, component, lasts)
	}}
}

func (s *soak) faultOfAReplica() fault {
	mortal := s.replicas[1:]
	chosen := mortal[s.rnd.IntN(len(mortal))]
	switch s.rnd.IntN(3) {
	case 0:
		away := time.Duration(s.rnd.Int64N(int64(kit.FaultDuration)))
		return fault{name: chosen.name + " killed", kind: "replica killed", restarts: true, strike: func(ctx context.Context, _ *testing.T) {
			chosen.service.Crash()
			kit.Last(ctx, away)
			s.count(chosen.restart)
		}}
	case 1:
		return fault{name: "rolling restart", kind: "rolling restart", restarts: true, strike: func(_ context.Context, t *testing.T) {
			for _, replica := range mortal {
				if err := replica.service.Stop(); err != nil {
					t.Errorf("%s exited: %v", replica.name, err)
				}
				s.count(replica.restart)
			}
		}}
	}
	chosen = s.replicas[s.rnd.IntN(len(s.replicas))]
	return fault{name: chosen.name + " frozen", kind: "replica frozen", strike: func(ctx context.Context, t *testing.T) {
		kit.Freeze(ctx, t, chosen.service, kit.FaultDuration)
	}}
}

func (s *soak) faultOfALink() fault {
	chosen := s.replicas[s.rnd.IntN(len(s.replicas))]
	names := []string{"reset", "refused", "dropped", "half-open", "slow", "torn"}
	kind := s.rnd.IntN(len(names))
	name := "link of " + chosen.name + " " + names[kind]
	return fault{name: name, kind: "link " + names[kind], strike: func(ctx context.Context, _ *testing.T) {
		if kind == 0 {
			chosen.link.Cut()
			return
		}
		kit.InjectFault(ctx, chosen.link, []harness.Fault{harness.Refused, harness.Dropped, harness.Frozen, harness.Slow, harness.Torn}[kind-1])
	}}
}

// count updates the summary.
func (s *soak) count(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// reportEvery logs the summary at an interval, until the returned function is called.
func (s *soak) reportEvery(interval time.Duration) (stop func()) {
	ticks, stopped := time.NewTicker(interval), make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() {
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				s.t.Log(s)
			case <-stopped:
				return
			}
		}
	})
	return func() {
		close(stopped)
		reporting.Wait()
	}
}

func (s *soak) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults, used := 0, ""
	for _, times := range s.faults {
		faults += times
	}
	for _, replica := range s.replicas {
		if samples := replica.lives[len(replica.lives)-1]; len(samples) > 0 {
			last := samples[len(samples)-1]
			used += fmt.Sprintf("; %s: %d MiB, %d MiB live, %d goroutines, %d files", replica.name, last.Bytes>>20, last.Live>>20, last.Goroutines, last.Files)
		}
	}
	return fmt.Sprintf("SEED=%d, %v, %d rounds, %d faults %v: %s%s",
		s.seed, time.Since(s.began).Round(time.Second), s.rounds, faults, s.faults, s.total, used)
}
