package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// The bench starts its own binary as a process with Reflectors of all pods: bench reflect READING
// KUBECONFIG, where READING is JSON. It prints a line of JSON, a reflected, when all Reflectors have
// their snapshot, and then every reportInterval.
const (
	reflectCommand = "reflect"
	reportInterval = 250 * time.Millisecond
)

// partReading is how pods are read: by Reflectors, each with a connection of its own.
type partReading struct {
	Reflectors int `json:"reflectors"`
	// Sharded makes each Reflector ask for its part of the pods by shardSelector. Otherwise each of
	// them asks for all pods.
	Sharded bool `json:"sharded"`
	// Listed makes the Reflectors list before they watch. Otherwise they begin with a watch that
	// sends all pods (sendInitialEvents).
	Listed bool `json:"listed"`
}

// reflected is what the Reflectors have received. The numbers of pods are counted only in the first
// report.
type reflected struct {
	Seconds    float64 `json:"seconds"`    // until all Reflectors had their snapshot
	CPUSeconds float64 `json:"cpuSeconds"` // of the process in that time

	Objects  int      `json:"objects"`  // of all Reflectors
	Distinct int      `json:"distinct"` // different ones
	Foreign  int      `json:"foreign"`  // outside of the range that was asked for
	Echoed   int      `json:"echoed"`   // lists whose response names the selector
	Versions []string `json:"versions"` // of the snapshots

	Changes int `json:"changes"` // received since the snapshots
}

func runReflectors(ctx context.Context, encoded, kubeconfig string) error {
	var how partReading
	if err := json.Unmarshal([]byte(encoded), &how); err != nil {
		return err
	}
	parts, err := newParts(how, kubeconfig)
	if err != nil {
		return err
	}
	began, used := time.Now(), ownCPU()
	var running, synced sync.WaitGroup
	for _, p := range parts {
		synced.Add(1)
		p.synced = sync.OnceFunc(synced.Done)
		running.Go(func() { p.reflect(ctx, how.Listed) })
	}
	synced.Wait()
	report := reflected{Seconds: time.Since(began).Seconds(), CPUSeconds: (ownCPU() - used).Seconds()}
	if err := report.count(parts); err != nil {
		return err
	}
	for {
		text, err := json.Marshal(report)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
		if pause(ctx, reportInterval) != nil {
			running.Wait()
			return nil
		}
		report.Changes = 0
		for _, p := range parts {
			report.Changes += p.changed()
		}
	}
}

// ownCPU returns the CPU time of this process.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // only for invalid arguments
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// count counts the pods of all parts, and compares them with the ranges that were asked for.
func (r *reflected) count(parts []*part) error {
	distinct := make(map[string]bool)
	for _, p := range parts {
		p.mu.Lock()
		r.Versions = append(r.Versions, p.version)
		r.Objects += len(p.pods)
		if p.echoed == p.selector && p.selector != "" {
			r.Echoed++
		}
		for _, pod := range p.pods {
			distinct[string(pod.UID)] = true
			inside, err := p.shard.Matches(pod)
			if err != nil {
				return err
			}
			if !inside {
				r.Foreign++
			}
		}
		p.mu.Unlock()
	}
	r.Distinct = len(distinct)
	return nil
}

// part is a part of the pods, or all of them. It is the store of a Reflector.
type part struct {
	// Set once.
	client   rest.Interface
	shard    sharding.Selector
	selector string // the text of shard
	synced   func()

	mu      sync.Mutex // guards the fields below
	pods    map[string]*cachedPod
	version string
	echoed  string // the selector that the response to a list names
	changes int
}

func newParts(how partReading, kubeconfig string) (parts []*part, err error) {
	for number := range how.Reflectors {
		p := &part{shard: sharding.Everything()}
		if how.Sharded {
			p.shard = shardOf(number, how.Reflectors)
		}
		p.selector = p.shard.String()
		if p.client, err = podClient(kubeconfig); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// shardOf returns the selector of one of equal parts of the hashes of UIDs.
func shardOf(number, parts int) sharding.Selector {
	bound := func(number int) string {
		hashes := new(big.Int).Lsh(big.NewInt(int64(number)), 64)
		return fmt.Sprintf("0x%016x", hashes.Div(hashes, big.NewInt(int64(parts))))
	}
	return sharding.NewSelector(sharding.ShardRangeRequirement{
		Key: "object.metadata.uid", Start: bound(number), End: bound(number + 1),
	})
}

// podClient returns a client with a connection of its own, which reads pods as the service does: as
// protobuf without compression, of which it decodes the metadata, and through a buffer.
func podClient(kubeconfig string) (rest.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.DisableCompression = true
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = podCodec{scheme.Codecs}
	config.ContentType, config.AcceptContentTypes = asProtobuf, asProtobuf
	// Clients with equal configurations share connections, except those with a function.
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	config.Wrap(func(over http.RoundTripper) http.RoundTripper { return buffering{over} })
	return rest.RESTClientFor(config)
}

// buffering reads responses through a buffer.
type buffering struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b buffering) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{bufio.NewReaderSize(response.Body, 64<<10), response.Body}
	}
	return response, err
}

// reflect runs a Reflector until the context ends.
func (p *part) reflect(ctx context.Context, listed bool) {
	var source cache.ListerWatcher = &cache.ListWatch{ListWithContextFunc: p.list, WatchFuncWithContext: p.watch}
	if listed {
		source = &listingFirst{cache.ListWatch{ListWithContextFunc: p.list, WatchFuncWithContext: p.watch}}
	}
	cache.NewReflectorWithOptions(source, &cachedPod{}, p, cache.ReflectorOptions{Name: "bench"}).RunWithContext(ctx)
}

// listingFirst makes a Reflector list before it watches.
type listingFirst struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported disables sendInitialEvents in the Reflector.
func (*listingFirst) IsWatchListSemanticsUnSupported() bool { return true }

func (p *part) request(options metav1.ListOptions) *rest.Request {
	options.ShardSelector = p.selector
	return p.client.Get().Resource("pods").
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, corev1.SchemeGroupVersion)
}

func (p *part) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	object, err := p.request(options).Do(ctx).Get()
	if list, ok := object.(*cachedPods); ok && list.ShardInfo != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.echoed = list.ShardInfo.Selector
	}
	return object, err
}

func (p *part) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return p.request(options).Watch(ctx)
}

// changed returns the number of changes since the snapshot.
func (p *part) changed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes
}

// Add implements cache.ReflectorStore.
func (p *part) Add(item any) error { return p.Update(item) }

// Update implements cache.ReflectorStore.
func (p *part) Update(item any) error {
	pod, ok := item.(*cachedPod)
	if !ok {
		return fmt.Errorf("received a %T", item)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods[string(pod.UID)] = pod
	p.changes++
	return nil
}

// Delete implements cache.ReflectorStore. No pod is deleted while a process with Reflectors runs.
func (p *part) Delete(any) error { return errors.New("a pod was deleted") }

// Replace implements cache.ReflectorStore.
func (p *part) Replace(items []any, version string) error {
	pods := make(map[string]*cachedPod, len(items))
	for _, item := range items {
		pod := item.(*cachedPod)
		pods[string(pod.UID)] = pod
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods, p.version = pods, version
	p.synced()
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (p *part) Resync() error { return nil }

// reflectors is a running process with Reflectors.
type reflectors struct{ *harness.Process }

// startReflectors starts a process with Reflectors, and returns its first report. The caller must call
// stop.
func (c *controlPlane) startReflectors(ctx context.Context, how partReading) (*reflectors, reflected, error) {
	encoded, err := json.Marshal(how)
	if err != nil {
		return nil, reflected{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, reflected{}, err
	}
	process, err := harness.Start(self, reflectCommand, string(encoded), c.kubeconfig())
	if err != nil {
		return nil, reflected{}, err
	}
	r := &reflectors{process}
	first, err := r.until(ctx, func(reflected) bool { return true })
	if err != nil {
		r.stop()
	}
	return r, first, err
}

func (r *reflectors) stop() { _ = r.Stop() }

// until blocks until the process has printed a report for which match is true, and returns it.
func (r *reflectors) until(ctx context.Context, match func(reflected) bool) (found reflected, err error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	_, err = r.UntilPrints(ctx, func(line string) bool {
		found = reflected{}
		return json.Unmarshal([]byte(line), &found) == nil && match(found)
	})
	return found, err
}
