package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// strikesAmid is the number of faults of a link during a snapshot.
	strikesAmid = 3
	// crowdBytes is less than the size of a snapshot of the crowd on any link.
	crowdBytes = crowdOf * 150
	// meanwhile is the number of writes during a fault.
	meanwhile = 20
)

// Links fail at random points while the service lists the crowd, and while clients receive it.
// Other objects are written all the time.
func TestScenario28_LargeSnapshotSurvivesLinkFaults(t *testing.T) {
	crowd := crowdOfConfigMaps(t)
	for name, fault := range map[string]harness.Fault{"it is cut": harness.Dropped, "it is half-open": harness.Frozen} {
		for range rounds(t) {
			t.Run(name, func(t *testing.T) {
				ctx := deadlineAfter(t, crowdPatience)
				o := newOnlookers(ctx, t, crowd, fault, newSeed(t))
				var service *harness.Service
				for range strikesAmid { // during the service's list
					link := harness.StartProxy(t, crowdedCluster(t).Address(), harness.None)
					service = harness.StartService(t, harness.KubeconfigTo(t, crowdedCluster(t).Kubeconfig, link.Address()))
					o.strikeAmid(ctx, link, service.Address)
				}
				link := harness.StartProxy(t, strings.TrimPrefix(service.Address, "http://"), harness.None)
				for range strikesAmid { // during the client's snapshot
					o.strikeAmid(ctx, link, "http://"+link.Address())
				}
				o.atWork(ctx, busy)
				t.Log(o.finish(ctx, validate.Evidence{}))
			})
		}
	}
}

// onlookers are a traffic group with followers of a crowd, and of a few objects that change.
type onlookers struct {
	*trafficGroup
	fault harness.Fault
}

func newOnlookers(ctx context.Context, t *testing.T, crowd crowd, fault harness.Fault, seed uint64) *onlookers {
	t.Helper()
	on := testbed{controlPlane: crowdedCluster(t), namespaces: []string{newNamespace(ctx, t, crowdedCluster(t))}}
	started, err := traffic.Start(ctx, on.controlPlane.Dynamic, traffic.ConfigMaps, traffic.Options{
		Namespaces: on.namespaces, Still: []string{crowd.namespace}, Objects: 16, Writers: 4, Pause: restOfWriters, Seed: seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	harness.Cleanup(t, started.Stop)
	return &onlookers{fault: fault, trafficGroup: &trafficGroup{
		testbed: on, t: t, rnd: rand.New(rand.NewPCG(seed, 0)), stop: make(chan struct{}),
		resources: []*resourceTraffic{{resource: traffic.ConfigMaps, traffic: started}},
	}}
}

// strikeAmid makes a link fail at some point of the snapshots for two more clients, one of all
// objects and one of the changing ones, until they have missed something. Then the link is cut or
// recovers.
func (o *onlookers) strikeAmid(ctx context.Context, link *harness.Proxy, address string) {
	o.t.Helper()
	begun := link.SetAfter(o.rnd.IntN(crowdBytes), o.fault)
	o.follow(address, &kubeconnectv1.WatchRequest{})
	o.follow(address, &kubeconnectv1.WatchRequest{LabelSelector: traffic.Label})
	select {
	case <-begun:
	case <-ctx.Done():
		o.t.Fatalf("the link has not forwarded enough bytes: %v", context.Cause(ctx))
	}
	o.written(ctx, meanwhile)
	if o.rnd.IntN(2) == 0 {
		link.Cut()
	}
	link.Set(harness.None)
	o.atWork(ctx, meanwhile)
}

// follow adds a follower with a connection of its own.
func (o *onlookers) follow(address string, request *kubeconnectv1.WatchRequest) {
	o.t.Helper()
	followers := &o.resources[0].followers
	request.Resource, request.Encoding = traffic.ConfigMaps.Name(), kubeconnectv1.Encoding_ENCODING_PROTOBUF
	protocols := []harness.Protocol{harness.Connect, harness.GRPC}
	client := harness.Dial(harness.HTTP2(o.t), address, protocols[len(*followers)%len(protocols)]).Resources
	*followers = append(*followers, record.Follow(o.t, fmt.Sprintf("client %d", len(*followers)), request, client))
}
