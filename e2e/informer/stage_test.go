package informer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// shortWait bounds the wait for an informer that is known not to have a property. A minute is longer
// than others need to detect a half-open connection.
func shortWait(of property) time.Duration {
	if of == halfOpen {
		return time.Minute
	}
	return 5 * time.Second
}

// stage is a namespace with ConfigMaps, and the informers that follow them.
type stage struct {
	kit.ConfigMaps
	cluster   *harness.Cluster
	namespace string
	selector  string
	release   string         // the path of the file that releases the handlers that block
	upstream  *harness.Proxy // between the service and the API server
	service   *harness.Service
	followers []*follower
	settled   int
}

// follower is an informer, and what it has reported.
type follower struct {
	implementation
	*recorder
	settings
	link *link
	stop func()
	from int // the first call of the quick handlers after the last mark
}

// newStage returns a stage without followers.
func newStage(t *testing.T, cluster *harness.Cluster) *stage {
	t.Helper()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, cluster)
	s := &stage{
		ConfigMaps: kit.ConfigMapsIn(ctx, t, cluster, namespace),
		cluster:    cluster,
		namespace:  namespace,
		upstream:   harness.StartProxy(t, cluster.Address(), harness.None),
	}
	s.startService("127.0.0.1:0")
	return s
}

func (s *stage) startService(listen string, flags ...string) {
	s.T.Helper()
	s.service = harness.StartMortalService(s.T, harness.KubeconfigTo(s.T, s.cluster.Kubeconfig, s.upstream.Address()), listen, flags...)
}

// restartService starts the crashed service at its address.
func (s *stage) restartService(flags ...string) {
	s.T.Helper()
	s.startService(kit.HostPort(s.service), flags...)
}

// follow starts informers, and blocks until they have the objects of the cluster.
func (s *stage) follow(with []implementation, options settings) {
	s.T.Helper()
	s.selector, s.release = options.LabelSelector, options.Release
	for _, each := range with {
		f := &follower{implementation: each, settings: options}
		f.Namespace = s.namespace
		if shortcoming(latestStates, each.name) != "" {
			f.Pause = 0 // it would take that long for each change
		}
		if options.Dump != "" {
			f.Dump = filepath.Join(options.Dump, each.name)
		}
		if each.ours {
			f.link = newLink(s.T, kit.HostPort(s.service))
			f.Address = "http://" + f.link.outer.Address()
			f.Way = map[string]string{threads: "threads", routines: "asyncio"}[each.name]
		} else {
			f.link = newLink(s.T, s.cluster.Address())
			f.Kubeconfig = harness.KubeconfigTo(s.T, s.cluster.Kubeconfig, f.link.outer.Address())
		}
		s.followers = append(s.followers, f)
		f.start(s.T)
	}
	s.settle()
}

func (f *follower) start(t *testing.T) {
	t.Helper()
	f.recorder, f.from = newRecorder(), 0
	f.stop = f.implementation.start(t, f.settings, f.recorder)
	t.Cleanup(f.stop)
}

// objects returns the objects of the cluster.
func (s *stage) objects() map[string]version {
	s.T.Helper()
	list, err := s.API.List(s.Ctx, metav1.ListOptions{LabelSelector: s.selector})
	if err != nil {
		s.T.Fatal(err)
	}
	objects := make(map[string]version)
	for _, object := range list.Items {
		objects[object.Name] = version{string(object.UID), object.ResourceVersion}
	}
	return objects
}

// settle blocks until each follower has the objects of the cluster, and then until it has one more,
// so that all earlier calls have been received.
func (s *stage) settle() {
	s.T.Helper()
	s.converged(converges, "quick", "slow")
	s.settled++
	s.Create(fmt.Sprintf("settled-%d", s.settled), kit.Labels{"app": "web"})
	s.converged(converges, "quick", "slow")
}

// converged blocks until each follower has the objects of the cluster in its store and in these
// handlers, and gives its verdict on the property.
func (s *stage) converged(of property, handlers ...string) {
	s.T.Helper()
	want := s.objects()
	for _, f := range s.followers {
		ctx, cancel := s.patience(f, of)
		s.verdict(f, of, f.await(ctx, want, handlers...))
		cancel()
	}
}

// patience returns a context that ends when the test no longer waits for a property of a follower.
func (s *stage) patience(f *follower, of property) (context.Context, context.CancelFunc) {
	if shortcoming(of, f.name) != "" {
		return context.WithTimeout(s.Ctx, shortWait(of))
	}
	return context.WithCancel(s.Ctx)
}

// await blocks until a follower has these objects. It returns what differs if ctx ends first.
func (f *follower) await(ctx context.Context, want map[string]version, handlers ...string) error {
	ticks := time.NewTicker(kit.PollInterval)
	defer ticks.Stop()
	for {
		err := f.storeDiffers(want)
		for _, name := range handlers {
			if err == nil {
				err = f.handlersDiffer(name, want)
			}
		}
		if err == nil {
			return nil
		}
		if f.hasEnded() {
			return fmt.Errorf("the program has ended: %w", err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// verdict fails the test if a follower does not have a property, unless it is known not to have it.
// It also fails the test if that is known and no longer true.
func (s *stage) verdict(f *follower, of property, err error) {
	s.T.Helper()
	switch known := shortcoming(of, f.name); {
	case err != nil && known == "":
		s.T.Errorf("%s: %s\n%v", f.name, of, err)
	case err != nil:
		s.T.Logf("%s, as known: %s\n%v", f.name, of, err)
	case known != "":
		s.T.Errorf("%s now has this property, so remove its shortcoming: %s", f.name, of)
	}
}

// mark begins the calls that wantCalls compares.
func (s *stage) mark() {
	for _, f := range s.followers {
		f.from = len(f.received("quick", 0))
	}
}

// wantChanges requires exactly these calls that change these objects, since the mark.
func (s *stage) wantChanges(of property, want map[string][]string) {
	s.T.Helper()
	s.compareCalls(of, want, func(f *follower) []call { return changing(f.received("quick", 0), f.from) })
}

// wantCalls requires exactly these calls for these objects since the mark.
func (s *stage) wantCalls(of property, want map[string][]string) {
	s.T.Helper()
	s.compareCalls(of, want, func(f *follower) []call { return f.received("quick", f.from) })
}

func (s *stage) compareCalls(of property, want map[string][]string, calls func(*follower) []call) {
	s.T.Helper()
	for _, f := range s.followers {
		got := kindsByName(calls(f))
		var err error
		for name, kinds := range want {
			if fmt.Sprint(got[name]) != fmt.Sprint(kinds) {
				err = fmt.Errorf("calls for %s are %q, want %q", name, got[name], kinds)
			}
		}
		s.verdict(f, of, err)
	}
}

// wantConsistentCalls requires that all calls follow from each other. A violation of a property that
// the follower is known not to have is ignored.
func (s *stage) wantConsistentCalls() {
	s.T.Helper()
	for _, f := range s.followers {
		for _, handlers := range []string{"quick", "slow"} {
			_, found := fold(f.received(handlers, 0))
			for _, each := range found {
				if shortcoming(each.property, f.name) == "" {
					s.T.Errorf("%s, %s handlers: %s\n%s", f.name, handlers, each.property, each.text)
				}
			}
		}
	}
}

// releaseFile returns the path of a file that does not exist.
func releaseFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "release")
}

// releaseHandlers ends the blocking of handlers.
func (s *stage) releaseHandlers() {
	s.T.Helper()
	if err := os.WriteFile(s.release, nil, 0o600); err != nil {
		s.T.Fatal(err)
	}
}
