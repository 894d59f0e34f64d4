package kit

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
	// WriterPause is the pause of each writer after a write.
	WriterPause = 20 * time.Millisecond
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

// Testbed is where a traffic group works: namespaces, and a built-in and a custom resource in which
// no other test changes anything.
type Testbed struct {
	ControlPlane *harness.Cluster
	Namespaces   []string
	Resources    []traffic.Resource
	// Callers have followers of their own, over the same objects. None: all followers are of one caller,
	// which can read all namespaces.
	Callers []*RbacAccount
	// OneByOne are clients of the replicas of a service that caches the namespaces one by one; none if the service caches whole
	// resources. They can read all of the namespaces. Recordings over several namespaces are then judged in each, and those of pages and
	// counts over several are not: these have a state of each namespace, and no version in common.
	OneByOne []ResourceClient
	goBack   bool // whether followers go back to earlier tokens, with their state at that time

	kin map[string]kin // by namespace
}

// NewTestbed creates two namespaces and a custom resource.
func NewTestbed(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) Testbed {
	t.Helper()
	s := Testbed{ControlPlane: controlPlane, goBack: true, Namespaces: []string{NewNamespace(ctx, t, controlPlane), NewNamespace(ctx, t, controlPlane)}}
	s.Resources = []traffic.Resource{traffic.ConfigMaps, Gadgets(ctx, t, controlPlane, s.Namespaces[0])}
	return s
}

// TrafficGroup is random traffic with followers of all kinds, which disconnect from time to time.
type TrafficGroup struct {
	Testbed
	T             *testing.T
	began         time.Time
	Rnd           *rand.Rand
	Resources     []*ResourceTraffic
	Stop          chan struct{}
	disconnecting sync.WaitGroup
}

// ResourceTraffic is the traffic to one resource, with its followers.
type ResourceTraffic struct {
	Resource  traffic.Resource
	Traffic   *traffic.Traffic
	Followers []*record.Follower
	Pages     []*record.PageFollower
	Counts    []*record.CountsFollower
	Allowed   func(namespace string) bool // nil if the followers can read all namespaces

	callers map[any]*RbacAccount // of followers; nil for those that can read what Allowed says
}

// NewTrafficGroup starts a traffic group. Its followers call any of the clients. Each caller of the
// testbed has followers with each selection instead, which call any of its own clients.
func NewTrafficGroup(ctx context.Context, t *testing.T, on Testbed, seed uint64, clients ...record.Client) *TrafficGroup {
	t.Helper()
	on.kin = map[string]kin{}
	for _, namespace := range on.Namespaces {
		on.kin[namespace] = newKin(ctx, t, on, namespace)
	}
	c := &TrafficGroup{Testbed: on, T: t, began: time.Now(), Rnd: rand.New(rand.NewPCG(seed, 0)), Stop: make(chan struct{})}
	for _, resource := range on.Resources {
		c.Resources = append(c.Resources, newResourceTraffic(ctx, t, on, resource, seed, clients))
	}
	c.disconnecting.Go(c.disconnect)
	harness.Cleanup(t, c.end)
	return c
}

// NewSeed returns the seed in SEED, or a new one.
func NewSeed(t *testing.T) uint64 {
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

// Gadgets defines a custom resource for this test.
func Gadgets(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string) traffic.Resource {
	t.Helper()
	custom := NewCustomResource(ctx, t, controlPlane, namespace)
	custom.Define("v1")
	return traffic.Resource{
		Of:   schema.GroupVersionResource{Group: custom.Group, Version: "v1", Resource: "gadgets"},
		Kind: "Gadget", Field: "color",
	}
}

func newResourceTraffic(ctx context.Context, t *testing.T, on Testbed, resource traffic.Resource, seed uint64, clients []record.Client) *ResourceTraffic {
	t.Helper()
	var started *traffic.Traffic
	resource.Owners = map[string]metav1.OwnerReference{}
	for namespace, kin := range on.kin {
		resource.Owners[namespace] = kin.ownerReference()
	}
	Eventually(ctx, t, "the resource is served", func() (err error) {
		started, err = traffic.Start(ctx, on.ControlPlane.Dynamic, resource, traffic.Options{
			Namespaces: on.Namespaces, Objects: 16, Writers: 4, Pause: WriterPause, Seed: seed,
		})
		return err
	})
	harness.Cleanup(t, started.Stop)
	c := &ResourceTraffic{Resource: resource, Traffic: started, callers: map[any]*RbacAccount{}}
	rnd := rand.New(rand.NewPCG(seed, 1))
	if len(on.Callers) == 0 {
		c.follow(t, on, rnd, nil, clients)
	}
	for _, caller := range on.Callers {
		c.follow(t, on, rnd, caller, caller.Clients)
	}
	return c
}

// follow starts followers of all kinds, of a caller or of none.
func (c *ResourceTraffic) follow(t *testing.T, on Testbed, rnd *rand.Rand, caller *RbacAccount, clients []record.Client) {
	t.Helper()
	of, namespace := "", on.Namespaces[0]
	if caller != nil {
		of = caller.Name + ": "
		namespace = on.Namespaces[slices.IndexFunc(on.Namespaces, caller.Has)]
	}
	began := []int{len(c.Followers), len(c.Pages), len(c.Counts)}
	c.followSelections(t, of, rnd, on.kin[namespace], clients)
	c.followPages(t, of, rnd, on.kin[namespace], clients)
	c.followCounts(t, of, rnd, on.kin[namespace], clients)
	for _, follower := range c.Followers[began[0]:] {
		c.callers[follower] = caller
	}
	for _, follower := range c.Pages[began[1]:] {
		c.callers[follower] = caller
	}
	for _, follower := range c.Counts[began[2]:] {
		c.callers[follower] = caller
	}
}

// evidenceOf returns the evidence for a follower.
func (c *ResourceTraffic) evidenceOf(follower any, evidence validate.Evidence) validate.Evidence {
	if caller := c.callers[follower]; caller != nil {
		evidence.Rights, evidence.Recheck = caller.Rights, UnnoticedPermissions
	}
	return evidence
}

// allowed returns in which namespaces a follower may read; nil is all.
func (c *ResourceTraffic) allowed(follower any) func(namespace string) bool {
	if caller := c.callers[follower]; caller != nil {
		return caller.Has
	}
	return c.Allowed
}

// followSelections starts followers of some of the selections, and of all relations.
func (c *ResourceTraffic) followSelections(t *testing.T, of string, rnd *rand.Rand, kin kin, clients []record.Client) {
	t.Helper()
	all := selections(c.Resource, kin.namespace)
	names := slices.Sorted(maps.Keys(all))
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	follow := func(name string, request *kubeconnectv1.WatchRequest, related func(validate.Write) bool) {
		form := forms[rnd.IntN(len(forms))]
		request.Resource, request.Encoding, request.PatchFormat = c.Resource.Name(), form.encoding, form.patches
		name = fmt.Sprintf("%s%s, %s, %s, patches: %s", of, c.Resource.Name(), name, form.encoding, form.patches)
		c.Followers = append(c.Followers, record.FollowRelated(t, name, request, related, clients...))
	}
	for _, name := range names[:followersOfResource] {
		follow(name, all[name], nil)
	}
	for name, relation := range kin.some(t, rnd) {
		request := &kubeconnectv1.WatchRequest{Namespace: kin.namespace, Related: relation.Relation}
		if rnd.IntN(2) == 0 {
			request.LabelSelector = traffic.Label + "!=green"
		}
		follow(name, request, c.relatedTo(relation))
	}
}

// relatedTo returns what a relation selects. Only ConfigMaps own objects of the traffic.
func (c *ResourceTraffic) relatedTo(relation relation) func(validate.Write) bool {
	if relation.Type == kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF && c.Resource.Of != traffic.ConfigMaps.Of {
		return validate.Among()
	}
	return relation.selects
}

// forms are the forms in which followers request their objects.
var forms = []struct {
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchFormat
}{
	{kubeconnectv1.Encoding_ENCODING_PROTOBUF, kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE},
	{kubeconnectv1.Encoding_ENCODING_STRUCT, kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE},
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
func (c *TrafficGroup) disconnect() {
	ticks := time.NewTicker(disconnectInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			traffic := c.Resources[c.Rnd.IntN(len(c.Resources))]
			c.scroll(traffic.Pages)
			c.hangUpCounts(traffic.Counts)
			follower := traffic.Followers[c.Rnd.IntN(len(traffic.Followers))]
			if c.goBack && c.Rnd.IntN(goBackOnce) == 0 {
				follower.GoBack()
			} else {
				follower.HangUp()
			}
		case <-c.Stop:
			return
		}
	}
}

// end ends the hang-ups; a second call does nothing.
func (c *TrafficGroup) end() {
	select {
	case <-c.Stop:
	default:
		close(c.Stop)
	}
	c.disconnecting.Wait()
}

// Written blocks until the given number of further writes has been made to each resource.
func (c *TrafficGroup) Written(ctx context.Context, writes int) {
	c.T.Helper()
	for _, load := range c.Resources {
		target := load.Traffic.Writes.Count() + writes
		Eventually(ctx, c.T, "more writes are made", func() error {
			if count := load.Traffic.Writes.Count(); count < target {
				return fmt.Errorf("%d writes, want %d", count, target)
			}
			return nil
		})
	}
}

// AtWork blocks until the given number of further writes has been made to each resource and
// delivered to every follower.
func (c *TrafficGroup) AtWork(ctx context.Context, writes int) {
	c.T.Helper()
	c.Written(ctx, writes)
	for _, load := range c.Resources {
		newest := load.Traffic.Writes.Newest()
		load.advance(ctx, c.T, c.OneByOne)
		for _, follower := range load.Followers {
			follower.Reaches(ctx, newest)
		}
		load.reachPages(ctx, newest)
	}
}

// CatchUp sets where the followers may receive latest states.
func (c *TrafficGroup) CatchUp(where validate.CatchUp) {
	for _, load := range c.Resources {
		for _, follower := range load.Followers {
			follower.CatchUp(where)
		}
	}
}

// Finish ends the traffic, blocks until every follower has the objects of the cluster, and
// validates the recordings. It returns their tally.
func (c *TrafficGroup) Finish(ctx context.Context, evidence validate.Evidence) Tally {
	c.T.Helper()
	for _, load := range c.Resources {
		if err := load.Traffic.Finish(ctx); err != nil {
			c.T.Fatal(err)
		}
	}
	c.end()
	var total Tally
	evidence.Silence, evidence.Delivery, evidence.Began = silence, delivery, c.began
	for _, load := range c.Resources {
		wantWritten(ctx, c.T, c.ControlPlane, load)
		evidence.Writes = load.Traffic.Writes
		total.writes += evidence.Writes.Count()
		load.advance(ctx, c.T, c.OneByOne)
		var recordings []recorded
		for _, follower := range load.Followers {
			recording := load.converge(ctx, c.T, follower)
			total.count(recording)
			recordings = append(recordings, recorded{recording, load.evidenceOf(follower, evidence)})
		}
		c.judge(recordings)
		total.Add(load.finishPages(ctx, c.T, evidence, c.evidenceAbout))
		total.Add(load.finishCounts(ctx, c.T, evidence, c.evidenceAbout))
	}
	if total.calls < 2 || total.events == 0 {
		c.T.Errorf("the recordings show too little: %s", total)
	}
	return total
}

// advance makes a service that caches namespaces one by one notice that nothing else has changed in each of them up to the
// last write: it learns so about a quiet namespace once a minute, or when a caller waits for a version.
func (c *ResourceTraffic) advance(ctx context.Context, t *testing.T, clients []ResourceClient) {
	t.Helper()
	for _, client := range clients {
		Eventually(ctx, t, "all namespaces are at the version of the last write", func() error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: c.Resource.Name(), MinResourceVersion: c.Traffic.Writes.Newest(), PageSize: 1})
			return err
		})
	}
}

// recorded is a recording, with what is known about its time.
type recorded struct {
	*validate.Recording
	evidence validate.Evidence
}

// judge fails the test for each violation in recordings of one resource, and for each between them.
func (c *TrafficGroup) judge(recordings []recorded) {
	c.T.Helper()
	for _, together := range c.apart(recordings) {
		var streams []validate.Stream
		for _, one := range together {
			WantNoViolation(c.T, one.Recording, one.evidence)
			streams = append(streams, validate.Stream{Recording: one.Recording, Rights: one.evidence.Rights})
		}
		for _, violation := range shown(validate.Together(streams, together[0].evidence.Writes)) {
			c.T.Error(violation)
		}
	}
}

func shown(violations []validate.Violation) []validate.Violation {
	return violations[:min(len(violations), shownViolations)]
}

// evidenceAbout returns the evidence about the pages or counts of a selection, and whether they are judged.
func (c *TrafficGroup) evidenceAbout(selection validate.Selection, evidence validate.Evidence) (about validate.Evidence, judged bool) {
	switch {
	case len(c.OneByOne) == 0:
		return evidence, true
	case selection.Namespace == "":
		return evidence, false
	}
	return evidence.In(selection.Namespace), true
}

// apart returns the recordings that are judged together: all, or those of each namespace.
func (c *TrafficGroup) apart(recordings []recorded) [][]recorded {
	if len(c.OneByOne) == 0 {
		return [][]recorded{recordings}
	}
	var parts [][]recorded
	for _, namespace := range c.Namespaces {
		var in []recorded
		for _, one := range recordings {
			if of := one.Selection.Namespace; of == "" || of == namespace {
				evidence := one.evidence.In(namespace)
				in = append(in, recorded{one.In(namespace, evidence), evidence})
			}
		}
		parts = append(parts, in)
	}
	return parts
}

// converge blocks until a follower has the objects of the cluster.
func (c *ResourceTraffic) converge(ctx context.Context, t *testing.T, follower *record.Follower) *validate.Recording {
	t.Helper()
	writes := c.Traffic.Writes
	ctx, cancel := context.WithTimeout(ctx, harness.Patience(WaitTimeout))
	defer cancel()
	follower.Reaches(ctx, writes.Newest())
	follower.Holds(ctx, writes, c.allowed(follower))
	return follower.Stop()
}

// wantWritten fails the test unless client-go lists the objects that were written.
func wantWritten(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, c *ResourceTraffic) {
	t.Helper()
	list, err := controlPlane.Dynamic.Resource(c.Resource.Of).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[validate.Key]string{}
	for _, item := range list.Items {
		if key := (validate.Key{Namespace: item.GetNamespace(), Name: item.GetName()}); c.Traffic.Writes.Knows(key) {
			listed[key] = item.GetResourceVersion()
		}
	}
	if written := c.Traffic.Writes.Held(validate.Selection{}); !maps.Equal(listed, written) {
		t.Errorf("client-go lists %v, written: %v", listed, written)
	}
}

// WantNoViolation fails the test for each violation of a guarantee in a recording, and saves the
// recording.
func WantNoViolation(t *testing.T, recording *validate.Recording, evidence validate.Evidence) {
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
	path, err := record.SaveArtifact(recording)
	if err != nil {
		t.Error(err)
		return
	}
	t.Logf("the complete stream is in %s", path)
}

// Tally counts the calls, messages and events of recordings.
type Tally struct {
	writes, calls, responses, events, Patches int
	pages                                     int // calls for pages
	counts                                    int // responses with counts
	resets                                    int
	back                                      int // calls with an earlier token
	together                                  int // deletions at the version of the previous one
}

// Add adds the counts of b.
func (a *Tally) Add(b Tally) {
	a.writes += b.writes
	a.calls += b.calls
	a.responses += b.responses
	a.events += b.events
	a.Patches += b.Patches
	a.pages += b.pages
	a.counts += b.counts
	a.resets += b.resets
	a.back += b.back
	a.together += b.together
}

func (a *Tally) count(recording *validate.Recording) {
	a.calls += len(recording.Calls)
	for _, call := range recording.Calls {
		if call.From != nil {
			a.back++
		}
		a.responses += len(call.Responses)
		deletedAt := ""
		for _, response := range call.Responses {
			a.events += len(response.Events)
			a.Patches += response.Patches
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

func (a Tally) String() string {
	return fmt.Sprintf("%d writes, %d calls, %d of them for pages, %d with earlier tokens, %d responses, %d events, %d as patches, %d resets, %d deletions at the version of another, %d responses with counts",
		a.writes, a.calls, a.pages, a.back, a.responses, a.events, a.Patches, a.resets, a.together, a.counts)
}
