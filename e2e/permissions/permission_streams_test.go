package permissions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// streamsOfCaller is the number of streams that each caller keeps open in a world, next to its questions.
const streamsOfCaller = 12

// selectionsOfWorld is the number of selections that these streams have in common.
const selectionsOfWorld = 3

// permissionStream is an open watch of a caller, with a selection that the API server has confirmed.
type permissionStream struct {
	caller *permissionCaller
	text   string

	mu         sync.Mutex        // guards the fields below
	synced     bool              // whether the snapshot is complete
	held       map[string]string // the versions of the stage's own objects, by objectKey
	unexpected map[string]string // events other than MODIFIED after the snapshot, by objectKey
}

// withStreams keeps streams open while ask asks, and then compares what they receive of changes.
func (s *permissionStage) withStreams(run *permissionRun, world *permissionWorld, seed uint64, ask func()) {
	s.t.Helper()
	ctx, leave := context.WithCancel(s.ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer leave()
	open := s.openStreams(ctx, run, world, seed, &reading)
	ask()
	s.wantChanges(run, world, open)
}

// openStreams opens streams with different questions of all callers about the same few objects: half of
// them without a condition, and half with relations, of which many select nothing. They end with ctx.
func (s *permissionStage) openStreams(ctx context.Context, run *permissionRun, world *permissionWorld, seed uint64, reading *sync.WaitGroup) (open []*permissionStream) {
	rnd, oracle := rand.New(rand.NewPCG(seed, uint64(world.number)<<8)), newPermissionOracle(s)
	var about []permissionSelection
	for range selectionsOfWorld {
		selection := permissionSelection{kind: pick(rnd, s.kinds)}
		if selection.kind.namespaced {
			selection.namespace = pick(rnd, append([]string{""}, s.namespaces...))
		}
		about = append(about, selection)
	}
	for _, caller := range s.callers {
		asker := &permissionAsker{stage: s, oracle: oracle, caller: caller, rnd: rnd}
		for i := range streamsOfCaller {
			selection := about[i/2%len(about)]
			if i%2 == 0 {
				asker.relate(&selection)
			}
			stream := &permissionStream{caller: caller, text: fmt.Sprint("a stream of ", selection), held: map[string]string{}, unexpected: map[string]string{}}
			shown := stream.open(ctx, asker, selection, reading)
			if want := asker.wantSelected(ctx, selection, true); !slices.Contains(want, shown) && !isLate(shown, want) {
				run.mismatch(caller, stream.text, shown, strings.Join(want, "\n      or     "), world)
			} else if strings.HasPrefix(shown, shows(nil, nil)) {
				open = append(open, stream)
			}
		}
	}
	return open
}

// open returns what the snapshot shows, and then reads the stream until ctx ends.
func (p *permissionStream) open(ctx context.Context, a *permissionAsker, s permissionSelection, reading *sync.WaitGroup) string {
	request := &kubeconnectv1.WatchRequest{Resource: nameOf(s.kind), Namespace: s.namespace, Related: s.related, MetadataOnly: true}
	stream, err := responses.Of(a.caller.clients.Resources.Watch(ctx, request))
	if err != nil {
		return answerOf(err)
	}
	var namespaces []string
	for stream.Receive() {
		if stream.Msg().GetResource() != nil {
			namespaces = stream.Msg().GetNamespaces()
		}
		if p.take(a.stage, stream.Msg().GetEvents()) {
			reading.Go(func() {
				defer stream.Close()
				for stream.Receive() {
					p.take(a.stage, stream.Msg().GetEvents())
				}
			})
			return shows(slices.Collect(maps.Keys(p.held)), namespaces)
		}
	}
	_ = stream.Close()
	return answerOf(stream.Err())
}

// take applies events to the objects of the stage. It reports whether the snapshot is complete.
func (p *permissionStream) take(stage *permissionStage, events []*kubeconnectv1.Event) (synced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range events {
		object := event.GetObject()
		switch {
		case event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
			synced, p.synced = true, true
		case object == nil || !stage.isOwnKey(object.GetNamespace(), object.GetName()):
		case event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED:
			p.unexpected[objectKey(object)] = "deleted"
		default:
			if _, has := p.held[objectKey(object)]; !has && p.synced {
				p.unexpected[objectKey(object)] = "sent, and was not in the snapshot"
			}
			p.held[objectKey(object)] = object.GetResourceVersion()
		}
	}
	return synced
}

// differs describes how the stream differs from the versions of the objects that were changed. What it has
// selected does not change.
func (p *permissionStream) differs(versions map[string]string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var wrong []string
	for key, now := range versions {
		if problem, ok := p.unexpected[key]; ok {
			wrong = append(wrong, key+" is "+problem)
		}
		if version, held := p.held[key]; held && version != now {
			wrong = append(wrong, fmt.Sprintf("%s is at version %s, want %s", key, version, now))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// touchAll changes an annotation of each object of the stage, and returns the versions.
func (s *permissionStage) touchAll(number int) map[string]string {
	s.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"touched": fmt.Sprint(number, time.Now().UnixNano())}}})
	if err != nil {
		s.t.Fatal(err)
	}
	versions := map[string]string{}
	for _, kind := range s.kinds {
		namespaces := s.namespaces
		if !kind.namespaced {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			for _, name := range kind.names[1:] {
				object, err := s.controlPlane.Dynamic.Resource(kind.GroupVersionResource).Namespace(namespace).Patch(s.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil {
					s.t.Fatal(err)
				}
				versions[fmt.Sprintf("%s/%s %s", namespace, name, object.GetUID())] = object.GetResourceVersion()
			}
		}
	}
	return versions
}

// wantChanges changes every object, and records a mismatch for each stream that does not receive the
// changes of exactly those that it selects.
func (s *permissionStage) wantChanges(run *permissionRun, world *permissionWorld, open []*permissionStream) {
	s.t.Helper()
	versions := s.touchAll(world.number)
	for until := time.Now().Add(permissionDelay); time.Now().Before(until) && s.ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if !slices.ContainsFunc(open, func(p *permissionStream) bool { return len(p.differs(versions)) > 0 }) {
			break
		}
	}
	for _, stream := range open {
		if wrong := stream.differs(versions); len(wrong) > 0 {
			run.mismatch(stream.caller, stream.text, strings.Join(wrong[:min(len(wrong), 5)], "\n             "), "each object that it selects at its newest version", world)
		}
	}
	s.t.Logf("world %d: %d streams received their changes", world.number, len(open))
}
