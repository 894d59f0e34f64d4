package limits_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/costly"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const (
	// costlyMemory is the memory limit of the service, and bounds its memory as the operating system
	// counts it.
	costlyMemory = 256 << 20
	// costlyOpening is the number of streams that a caller opens at a time.
	costlyOpening = 8
	// costlySoakStreams is the number of streams of each field under `make soak`: more than a credential
	// may have. A caller opens them for costlySoakLasts at most.
	costlySoakStreams, costlySoakLasts = 2_100, time.Minute
)

// costlyStreams are the numbers of streams of some fields that two callers would need more than
// costlyMemory for, at half a MiB to 13 MiB each.
var costlyStreams = map[string]int{
	"Watch.filter (literals)":  200,
	"Watch.label_selector":     660,
	"Watch.joins":              40,
	"WatchMany.watches":        14,
	"GetLogLines.resume_after": 260,
	"GetLogLines.container":    240,
}

// TestCostlyFields_StayWithinTheMemoryLimit opens the most expensive streams that each field allows, by
// one caller and then by a second one too, while another caller reads.
func TestCostlyFields_StayWithinTheMemoryLimit(t *testing.T) {
	t.Parallel()
	_, soaking := kit.SoakFor(t)
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	evil, second := newCostlyCaller(ctx, t, "evil", 0), newCostlyCaller(ctx, t, "second", costlySoakStreams)
	for _, request := range costly.Streams() {
		count, chosen := costlyStreams[request.Name]
		if soaking {
			count = costlySoakStreams
		} else if !chosen {
			continue
		}
		t.Run(request.Name, func(t *testing.T) {
			ctx, leave := context.WithCancel(ctx)
			service := kit.StartForCallers(t, "--memory-limit", fmt.Sprint(costlyMemory))
			good := newGoodCaller(ctx, t, service)
			var streams sync.WaitGroup
			defer streams.Wait()
			defer leave()
			for _, caller := range []costlyCaller{evil, second} {
				memory := sampleMemory(t, service)
				seen := good.callWhile(ctx, func() { caller.open(ctx, t, &streams, service, request, count) })
				seen.wantServed(t)
				most := memory.end()
				t.Logf("with the streams of %s: good caller %s; %d MiB", caller.account.Name, seen, most>>20)
				if most > costlyMemory {
					t.Errorf("the service uses %d MiB with the streams of %s, want at most %d", most>>20, caller.account.Name, costlyMemory>>20)
				}
			}
		})
	}
}

// costlyCaller has permissions for ConfigMaps, pods and logs in a namespace of its own.
type costlyCaller struct {
	account kit.Account
	first   int // the number of its first request: its questions are its own
}

func newCostlyCaller(ctx context.Context, t *testing.T, name string, first int) costlyCaller {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RemoveAtEnd(ctx, t, namespace)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create(costly.Object, nil)
	account := kit.NewAccount(ctx, t, namespace, name)
	account.GrantIn(namespace, name, kit.Rule("configmaps", "get", "list", "watch"), kit.Rule("pods", "get", "list", "watch"), kit.Rule("pods/log", "get"))
	return costlyCaller{account, first}
}

// open opens a number of streams and blocks until each has a response or is rejected. Those that are open
// are read until ctx ends.
func (c costlyCaller) open(ctx context.Context, t *testing.T, streams *sync.WaitGroup, service *harness.Service, request costly.Request, count int) {
	opening := costlyOpening
	if reportsEachPart[request.Name] {
		opening = 1 // so that the requests of many watches are received one at a time
	}
	clients, slots := c.account.Calling(service, harness.GRPC), make(chan struct{}, opening)
	var mu sync.Mutex // guards codes
	codes := map[string]int{}
	for number, began := 0, time.Now(); number < count && time.Since(began) < costlySoakLasts; number++ {
		slots <- struct{}{}
		streams.Go(func() {
			release := sync.OnceFunc(func() { <-slots })
			defer release()
			err := readUntilEnd(ctx, clients, c.account.Namespace, request, c.first+number, func() {
				mu.Lock()
				defer mu.Unlock()
				codes["open"]++
				release()
			})
			if ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				codes[connect.CodeOf(err).String()]++
				if connect.CodeOf(err) != connect.CodeResourceExhausted && codes[connect.CodeOf(err).String()] == 1 {
					t.Errorf("%s is rejected with %v, want %s", request.Name, err, connect.CodeResourceExhausted)
				}
			}
		})
	}
	for range opening {
		slots <- struct{}{}
	}
	mu.Lock()
	defer mu.Unlock()
	t.Logf("%s: %v", c.account.Name, codes)
}

// readUntilEnd opens a stream and reads it until it ends. It calls opened after the first response.
func readUntilEnd(ctx context.Context, clients harness.Clients, namespace string, request costly.Request, number int, opened func()) error {
	stream, err := request.Open(ctx, clients, namespace, number)
	if err != nil {
		return err
	}
	defer stream.Close()
	opened = sync.OnceFunc(opened)
	for stream.Receive() {
		opened()
	}
	return stream.Err()
}

// deniedCPU bounds the CPU time of deniedRequests of a caller without permissions.
const deniedRequests, deniedCPU = 5, 100 * time.Millisecond

// TestCostlyFields_CostNothingWithoutPermission makes each costly request as a caller that may not read
// anything: the response precedes all work, whatever the request is.
func TestCostlyFields_CostNothingWithoutPermission(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	service := kit.StartForCallers(t, kit.MetricsFlags...)
	evil := newCostlyCaller(ctx, t, "evil", 0)
	nobody := kit.NewAccount(ctx, t, evil.account.Namespace, "nobody")
	clients := nobody.Calling(service, harness.GRPC)
	for _, request := range slices.Concat(costly.Streams(), costly.Calls()) {
		if needsNoPermission[request.Name] {
			continue
		}
		one := func(number int) error {
			if request.Call != nil {
				return request.Call(ctx, clients, evil.account.Namespace, number)
			}
			return readUntilEnd(ctx, clients, evil.account.Namespace, request, number, func() {})
		}
		var err error
		used := cpuDuring(ctx, t, service, func() {
			for number := range deniedRequests {
				err = one(number)
			}
		})
		t.Logf("%s: %v of CPU time, %s", request.Name, used, connect.CodeOf(err))
		if used > deniedCPU {
			t.Errorf("%d requests with %s take %v of CPU time, want at most %v", deniedRequests, request.Name, used, deniedCPU)
		}
		if code := connect.CodeOf(err); code != connect.CodePermissionDenied && request.Name != "List.page_token" && !reportsEachPart[request.Name] {
			t.Errorf("%s: %v, want %s", request.Name, err, connect.CodePermissionDenied)
		}
	}
}

// needsNoPermission are the requests that every caller is allowed to make.
var needsNoPermission = map[string]bool{"CheckAccess.checks": true, "GetSchema.resource": true, "ListResourceTypes": true}

// reportsEachPart are the streams that report that they are denied for each of their parts.
var reportsEachPart = map[string]bool{"WatchMany.watches": true, "WatchMany.counts": true}

// cpuOf returns the CPU time of a service since its start.
func cpuOf(ctx context.Context, t *testing.T, service *harness.Service) time.Duration {
	t.Helper()
	return time.Duration(scrapeOf(ctx, t, service).Series["process_cpu_seconds_total{}"] * float64(time.Second))
}

const (
	// matchedStreams is the number of streams whose filters a change is matched against, and
	// matchedChanges the number of changes.
	matchedStreams, matchedChanges = 60, 10
	// matchedObjects is the number of objects of a list whose CPU time is that of matching once.
	matchedObjects = 200
	// matchedOften bounds how often a change is matched against a filter, in CPU time: the object before
	// and after, and as much again for its delivery.
	matchedOften = 4
)

// TestMatching_CostsOfAChangeAreThoseOfItsFilters compares the CPU time of a change, which some streams
// match, with that of matching an object once.
func TestMatching_CostsOfAChangeAreThoseOfItsFilters(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	service, evil := kit.StartForCallers(t, kit.MetricsFlags...), newCostlyCaller(ctx, t, "evil", 0)
	objects := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), evil.account.Namespace)
	other := newCostlyCaller(ctx, t, "lister", 0)
	for i := range matchedObjects {
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), other.account.Namespace).Create(fmt.Sprint("listed-", i), nil)
	}
	clients := other.account.Calling(service, harness.GRPC)
	list := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: other.account.Namespace, MetadataOnly: true}
	kit.Eventually(ctx, t, "the caller has its permissions", func() error { _, err := clients.Resources.List(ctx, list); return err })
	list.Filter = costly.LoopFilter(0)
	matching := func() time.Duration {
		return cpuDuring(ctx, t, service, func() {
			if _, err := clients.Resources.List(ctx, list); err != nil {
				t.Error(err)
			}
		}) / matchedObjects
	}
	once := matching()
	watching, leave := context.WithCancel(ctx)
	var streams sync.WaitGroup
	defer streams.Wait()
	defer leave()
	seen := make(chan string, 2*matchedStreams)
	last := fmt.Sprint(matchedChanges - 1)
	for number := range matchedStreams {
		streams.Go(func() { watchUntil(watching, t, evil, service, number, last, seen) })
	}
	receive(ctx, t, seen, matchedStreams) // the snapshots
	used := cpuDuring(ctx, t, service, func() {
		for i := range matchedChanges {
			objects.Relabel(costly.Object, map[string]any{"changed": fmt.Sprint(i)})
		}
		receive(ctx, t, seen, matchedStreams)
	}) / matchedChanges / matchedStreams
	once = max(once, matching()) // on a busy machine the same work takes more CPU time at some times than at others
	t.Logf("matching once takes %v, a change %v for each stream", once, used)
	if used > matchedOften*once {
		t.Errorf("a change takes %v for each stream, want at most %d times %v", used, matchedOften, once)
	}
}

// watchUntil watches with a filter, and sends a value when the snapshot is complete, and when the object
// has the last of the changes. On a busy machine a stream waits too long for its turn to match changes: it
// is opened again, as clients do.
func watchUntil(ctx context.Context, t *testing.T, caller costlyCaller, service *harness.Service, number int, last string, seen chan<- string) {
	client := caller.account.Calling(service, harness.GRPC).Resources
	request := &kubeconnectv1.WatchRequest{
		Resource: "configmaps", Namespace: caller.account.Namespace, Filter: costly.LoopFilter(number), MetadataOnly: true,
	}
	synced := false
	for ctx.Err() == nil {
		stream, err := responses.Of(client.Watch(ctx, request))
		if err != nil {
			t.Error(err)
			return
		}
		for stream.Receive() {
			for _, event := range stream.Msg().GetEvents() {
				labels := event.GetObject().GetStruct().GetFields()["metadata"].GetStructValue().GetFields()["labels"].GetStructValue().GetFields()
				isSynced := event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
				if isSynced && !synced || labels["changed"].GetStringValue() == last {
					seen <- event.GetResourceVersion()
				}
				synced = synced || isSynced
			}
			request.ResumeToken = stream.Msg().GetResumeToken()
		}
		_ = stream.Close()
		if err := stream.Err(); ctx.Err() == nil && connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Error(err)
			return
		}
	}
}

// receive blocks until a number of values has been sent.
func receive(ctx context.Context, t *testing.T, from <-chan string, count int) {
	t.Helper()
	for range count {
		select {
		case <-from:
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		}
	}
}

// cpuDuring returns the CPU time that a service uses while do runs.
func cpuDuring(ctx context.Context, t *testing.T, service *harness.Service, do func()) time.Duration {
	t.Helper()
	before := cpuOf(ctx, t, service)
	do()
	return cpuOf(ctx, t, service) - before
}
