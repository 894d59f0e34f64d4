package scenarios_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// strikesAmid is the number of faults of a link during a snapshot.
	strikesAmid = 3
	// crowdBytes is less than the size of a snapshot of the crowd on any link.
	crowdBytes = kit.CrowdOf * 150
	// meanwhile is the number of writes during a fault.
	meanwhile = 20
)

// Links fail at random points while the service lists the crowd, and while clients receive it.
// Other objects are written all the time.
func TestScenario28_LargeSnapshotSurvivesLinkFaults(t *testing.T) {
	crowd := kit.CrowdOfConfigMaps(t)
	for name, fault := range map[string]harness.Fault{"it is cut": harness.Dropped, "it is half-open": harness.Frozen} {
		for range kit.Rounds(t) {
			t.Run(name, func(t *testing.T) {
				ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
				o := newOnlookers(ctx, t, crowd, fault, kit.NewSeed(t))
				var service *harness.Service
				for range strikesAmid { // during the service's list
					link := harness.StartProxy(t, kit.CrowdedCluster(t).Address(), harness.None)
					service = harness.StartService(t, harness.KubeconfigTo(t, kit.CrowdedCluster(t).Kubeconfig, link.Address()))
					o.strikeAmid(ctx, link, service.Address)
				}
				link := harness.StartProxy(t, strings.TrimPrefix(service.Address, "http://"), harness.None)
				for range strikesAmid { // during the client's snapshot
					o.strikeAmid(ctx, link, "http://"+link.Address())
				}
				o.AtWork(ctx, kit.BusyWrites)
				t.Log(o.Finish(ctx, validate.Evidence{}))
			})
		}
	}
}

// onlookers are a traffic group with followers of a crowd, and of a few objects that change.
type onlookers struct {
	*kit.TrafficGroup
	fault harness.Fault
}

func newOnlookers(ctx context.Context, t *testing.T, crowd kit.Crowd, fault harness.Fault, seed uint64) *onlookers {
	t.Helper()
	on := kit.Testbed{ControlPlane: kit.CrowdedCluster(t), Namespaces: []string{kit.NewNamespace(ctx, t, kit.CrowdedCluster(t))}}
	started, err := traffic.Start(ctx, on.ControlPlane.Dynamic, traffic.ConfigMaps, traffic.Options{
		Namespaces: on.Namespaces, Still: []string{crowd.Namespace}, Objects: 16, Writers: 4, Pause: kit.WriterPause, Seed: seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	harness.Cleanup(t, started.Stop)
	return &onlookers{fault: fault, TrafficGroup: &kit.TrafficGroup{
		Testbed: on, T: t, Rnd: rand.New(rand.NewPCG(seed, 0)), Stop: make(chan struct{}),
		Resources: []*kit.ResourceTraffic{{Resource: traffic.ConfigMaps, Traffic: started}},
	}}
}

// strikeAmid makes a link fail at some point of the snapshots for two more clients, one of all
// objects and one of the changing ones, until they have missed something. Then the link is cut or
// recovers.
func (o *onlookers) strikeAmid(ctx context.Context, link *harness.Proxy, address string) {
	o.T.Helper()
	begun := link.SetAfter(o.Rnd.IntN(crowdBytes), o.fault)
	o.follow(address, &kubeconnectv1.WatchRequest{})
	o.follow(address, &kubeconnectv1.WatchRequest{LabelSelector: traffic.Label})
	select {
	case <-begun:
	case <-ctx.Done():
		o.T.Fatalf("the link has not forwarded enough bytes: %v", context.Cause(ctx))
	}
	o.Written(ctx, meanwhile)
	if o.Rnd.IntN(2) == 0 {
		link.Cut()
	}
	link.Set(harness.None)
	o.AtWork(ctx, meanwhile)
}

// follow adds a follower with a connection of its own.
func (o *onlookers) follow(address string, request *kubeconnectv1.WatchRequest) {
	o.T.Helper()
	followers := &o.Resources[0].Followers
	request.Resource, request.Encoding = traffic.ConfigMaps.Name(), kubeconnectv1.Encoding_ENCODING_PROTOBUF
	protocols := []harness.Protocol{harness.Connect, harness.GRPC}
	client := harness.Dial(harness.HTTP2(o.T), address, protocols[len(*followers)%len(protocols)]).Resources
	*followers = append(*followers, record.Follow(o.T, fmt.Sprintf("client %d", len(*followers)), request, client))
}
