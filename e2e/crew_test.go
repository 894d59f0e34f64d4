package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// disconnectInterval is the interval at which one of the followers of a group starts another
	// call.
	disconnectInterval = 100 * time.Millisecond
	// restOfWriters is the pause of each writer after a write.
	restOfWriters = 20 * time.Millisecond
	// followersOfResource is the number of followers of one resource in a group, whose selections
	// are chosen at random.
	followersOfResource = 9
	// goBackOnce is the number of hang-ups for each one after which the follower goes back to an
	// earlier token.
	goBackOnce = 4
	// shownViolations is the number of violations of one stream that are printed.
	shownViolations = 3
)

// silence bounds the time without a message of a stream. The API specifies ten seconds; the rest is
// a margin for busy machines.
var silence = harness.Patience(time.Minute)

// delivery bounds the time to deliver a write while a stream is not stale.
var delivery = harness.Patience(2 * time.Second)

// testbed is where a traffic group works: namespaces, and a built-in and a custom resource in which
// no other test changes anything.
type testbed struct {
	controlPlane *harness.Cluster
	namespaces   []string
	resources    []traffic.Resource
	goBack       bool // whether followers go back to earlier tokens, with their state at that time
}

func newTestbed(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) testbed {
	t.Helper()
	s := testbed{controlPlane: controlPlane, goBack: true, namespaces: []string{newNamespace(ctx, t, controlPlane), newNamespace(ctx, t, controlPlane)}}
	s.resources = []traffic.Resource{traffic.ConfigMaps, gadgets(ctx, t, controlPlane, s.namespaces[0])}
	return s
}

// trafficGroup is random traffic with followers of all kinds, which disconnect from time to time.
type trafficGroup struct {
	testbed
	t             *testing.T
	began         time.Time
	rnd           *rand.Rand
	resources     []*resourceTraffic
	stop          chan struct{}
	disconnecting sync.WaitGroup
}

// resourceTraffic is the traffic to one resource, with its followers.
type resourceTraffic struct {
	resource  traffic.Resource
	traffic   *traffic.Traffic
	followers []*record.Follower
	allowed   func(namespace string) bool // nil if the followers can read all namespaces
}

// newTrafficGroup starts a traffic group. Its followers call any of the clients.
func newTrafficGroup(ctx context.Context, t *testing.T, on testbed, seed uint64, clients ...record.Client) *trafficGroup {
	t.Helper()
	c := &trafficGroup{testbed: on, t: t, began: time.Now(), rnd: rand.New(rand.NewPCG(seed, 0)), stop: make(chan struct{})}
	for _, resource := range on.resources {
		c.resources = append(c.resources, newResourceTraffic(ctx, t, on, resource, seed, clients))
	}
	c.disconnecting.Go(c.disconnect)
	harness.Cleanup(t, c.end)
	return c
}

// newSeed returns the seed in SEED, or a new one.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = given
	}
	t.Logf("SEED=%d", seed)
	return seed
}

// gadgets defines a custom resource for this test.
func gadgets(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) traffic.Resource {
	t.Helper()
	custom := newCustomResource(ctx, t, controlPlane, namespace)
	custom.define("v1")
	return traffic.Resource{
		Of:   schema.GroupVersionResource{Group: custom.group, Version: "v1", Resource: "gadgets"},
		Kind: "Gadget", Field: "color",
	}
}

func newResourceTraffic(ctx context.Context, t *testing.T, on testbed, resource traffic.Resource, seed uint64, clients []record.Client) *resourceTraffic {
	t.Helper()
	var started *traffic.Traffic
	eventually(ctx, t, "the resource is served", func() (err error) {
		started, err = traffic.Start(ctx, on.controlPlane.Dynamic, resource, traffic.Options{
			Namespaces: on.namespaces, Objects: 16, Writers: 4, Pause: restOfWriters, Seed: seed,
		})
		return err
	})
	harness.Cleanup(t, started.Stop)
	c := &resourceTraffic{resource: resource, traffic: started}
	rnd, all := rand.New(rand.NewPCG(seed, 1)), selections(resource, on.namespaces[0])
	names := slices.Sorted(maps.Keys(all))
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:followersOfResource] {
		request := all[name]
		form := forms[rnd.IntN(len(forms))]
		request.Resource, request.Encoding, request.Patches = resource.Name(), form.encoding, form.patches
		name = fmt.Sprintf("%s, %s, %s, patches: %s", resource.Name(), name, form.encoding, form.patches)
		c.followers = append(c.followers, record.Follow(t, name, request, clients...))
	}
	return c
}

// forms are the forms in which followers request their objects.
var forms = []struct {
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchType
}{
	{kubeconnectv1.Encoding_ENCODING_PROTOBUF, kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchType_PATCH_TYPE_UNSPECIFIED},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchType_PATCH_TYPE_JSON},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchType_PATCH_TYPE_MERGE},
	{kubeconnectv1.Encoding_ENCODING_STRUCT, kubeconnectv1.PatchType_PATCH_TYPE_MERGE},
}

// selections returns watches of every kind. Their filters are those that package validate can
// evaluate.
func selections(resource traffic.Resource, namespace string) map[string]*kubeconnectv1.WatchRequest {
	color, word := "metadata.name=traffic-3", "data.color"
	filter := `object.data.number.endsWith("0") || object.data.color == "blue"`
	if resource.Field != "" {
		color, word = "spec."+resource.Field+"=red", "spec."+resource.Field
		filter = `object.spec.color != "green"`
	}
	return map[string]*kubeconnectv1.WatchRequest{
		"all":                {},
		"a namespace":        {Namespace: namespace},
		"a label":            {LabelSelector: traffic.Label + "=red"},
		"labels, negated":    {LabelSelector: traffic.Label + " notin (red,green)", Namespace: namespace},
		"a field":            {FieldSelector: color},
		"a field, negated":   {FieldSelector: "metadata.name!=traffic-1", Namespace: namespace},
		"a name":             {Namespace: namespace, Name: "traffic-0"},
		"a label of a field": {LabelSelector: traffic.Label, FieldSelector: color},

		"a filter of the content":     {Filter: filter},
		"a filter of labels":          {Filter: `object.metadata.labels.color in ["red", "green"] && object.metadata.name != "traffic-1"`, Namespace: namespace},
		"a filter of missing labels":  {Filter: `!has(object.metadata.labels)`},
		"some fields":                 {Fields: []string{word}},
		"some fields of a label":      {Fields: []string{"metadata.name", "metadata.labels['color']"}, LabelSelector: traffic.Label},
		"some fields of a filter":     {Fields: []string{"metadata.uid", word}, Filter: `object.metadata.labels.color == "red"`},
		"the metadata":                {MetadataOnly: true, Namespace: namespace},
		"some fields of the metadata": {MetadataOnly: true, Fields: []string{"metadata.labels"}},
		"the metadata of a filter":    {MetadataOnly: true, Filter: filter},
	}
}

// disconnect ends the calls of one follower after another, so that they call again.
func (c *trafficGroup) disconnect() {
	ticks := time.NewTicker(disconnectInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			traffic := c.resources[c.rnd.IntN(len(c.resources))]
			follower := traffic.followers[c.rnd.IntN(len(traffic.followers))]
			if c.goBack && c.rnd.IntN(goBackOnce) == 0 {
				follower.GoBack()
			} else {
				follower.HangUp()
			}
		case <-c.stop:
			return
		}
	}
}

// end ends the hang-ups; a second call does nothing.
func (c *trafficGroup) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.disconnecting.Wait()
}

// written blocks until the given number of further writes has been made to each resource.
func (c *trafficGroup) written(ctx context.Context, writes int) {
	c.t.Helper()
	for _, load := range c.resources {
		target := load.traffic.Writes.Count() + writes
		eventually(ctx, c.t, "more writes are made", func() error {
			if count := load.traffic.Writes.Count(); count < target {
				return fmt.Errorf("%d writes, want %d", count, target)
			}
			return nil
		})
	}
}

// atWork blocks until the given number of further writes has been made to each resource and
// delivered to every follower.
func (c *trafficGroup) atWork(ctx context.Context, writes int) {
	c.t.Helper()
	c.written(ctx, writes)
	for _, load := range c.resources {
		newest := load.traffic.Writes.Newest()
		for _, follower := range load.followers {
			follower.Reaches(ctx, newest)
		}
	}
}

// catchUp sets where the followers may receive latest states.
func (c *trafficGroup) catchUp(where validate.CatchUp) {
	for _, load := range c.resources {
		for _, follower := range load.followers {
			follower.CatchUp(where)
		}
	}
}

// finish ends the traffic, blocks until every follower has the objects of the cluster, and
// validates the recordings. It returns their tally.
func (c *trafficGroup) finish(ctx context.Context, evidence validate.Evidence) tally {
	c.t.Helper()
	for _, load := range c.resources {
		if err := load.traffic.Finish(ctx); err != nil {
			c.t.Fatal(err)
		}
	}
	c.end()
	var total tally
	evidence.Silence, evidence.Delivery, evidence.Began = silence, delivery, c.began
	for _, load := range c.resources {
		wantWritten(ctx, c.t, c.controlPlane, load)
		evidence.Writes = load.traffic.Writes
		total.writes += evidence.Writes.Count()
		for _, follower := range load.followers {
			recording := load.converge(ctx, c.t, follower)
			wantNoViolation(c.t, recording, evidence)
			total.count(recording)
		}
	}
	if total.calls < 2 || total.events == 0 {
		c.t.Errorf("the recordings show too little: %s", total)
	}
	return total
}

// converge blocks until a follower has the objects of the cluster.
func (c *resourceTraffic) converge(ctx context.Context, t *testing.T, follower *record.Follower) *validate.Recording {
	t.Helper()
	writes := c.traffic.Writes
	ctx, cancel := context.WithTimeout(ctx, harness.Patience(patience))
	defer cancel()
	follower.Reaches(ctx, writes.Newest())
	follower.Holds(ctx, writes, c.allowed)
	return follower.Stop()
}

// wantWritten fails the test unless client-go lists the objects that were written.
func wantWritten(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, c *resourceTraffic) {
	t.Helper()
	list, err := controlPlane.Dynamic.Resource(c.resource.Of).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[validate.Key]string{}
	for _, item := range list.Items {
		if key := (validate.Key{Namespace: item.GetNamespace(), Name: item.GetName()}); c.traffic.Writes.Knows(key) {
			listed[key] = item.GetResourceVersion()
		}
	}
	if written := c.traffic.Writes.Held(validate.Selection{}); !maps.Equal(listed, written) {
		t.Errorf("client-go lists %v, written: %v", listed, written)
	}
}

func wantNoViolation(t *testing.T, recording *validate.Recording, evidence validate.Evidence) {
	t.Helper()
	violations := recording.Violations(evidence)
	for i, violation := range violations {
		if i == shownViolations {
			t.Errorf("%s: %d violations", recording.Name, len(violations))
			break
		}
		t.Errorf("%s\nafter\n  %s", violation, strings.Join(record.Before(recording, violation), "\n  "))
	}
	if len(violations) == 0 {
		return
	}
	path, err := record.Save(record.Artifacts, recording)
	if err != nil {
		t.Error(err)
		return
	}
	t.Logf("the complete stream is in %s", path)
}

// tally counts the calls, messages and events of recordings.
type tally struct {
	writes, calls, responses, events, patches int
	resets                                    int
	back                                      int // calls with an earlier token
	together                                  int // deletions at the version of the previous one
}

func (a *tally) add(b tally) {
	a.writes += b.writes
	a.calls += b.calls
	a.responses += b.responses
	a.events += b.events
	a.patches += b.patches
	a.resets += b.resets
	a.back += b.back
	a.together += b.together
}

func (a *tally) count(recording *validate.Recording) {
	a.calls += len(recording.Calls)
	for _, call := range recording.Calls {
		if call.From != nil {
			a.back++
		}
		a.responses += len(call.Responses)
		deletedAt := ""
		for _, response := range call.Responses {
			a.events += len(response.Events)
			a.patches += response.Patches
			for _, event := range response.Events {
				switch event.GetType() {
				case kubeconnectv1.EventType_EVENT_TYPE_RESET:
					a.resets++
				case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
					if event.GetResourceVersion() == deletedAt {
						a.together++
					}
					deletedAt = event.GetResourceVersion()
				}
			}
		}
	}
}

func (a tally) String() string {
	return fmt.Sprintf("%d writes, %d calls, %d of them with earlier tokens, %d responses, %d events, %d as patches, %d resets, %d deletions at the version of another",
		a.writes, a.calls, a.back, a.responses, a.events, a.patches, a.resets, a.together)
}
