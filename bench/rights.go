package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// reader reads from a service over one open connection.
type reader struct {
	service *service
	on      *connection
}

func (s *service) reader() (*reader, error) {
	on, err := s.dial()
	return &reader{s, on}, err
}

func (r *reader) close() { r.on.close() }

// get reads one pod.
func (r *reader) get(ctx context.Context, p place) error {
	bytes, err := r.service.get(ctx, r.on, &kubeconnectv1.GetRequest{
		Resource: "pods", Namespace: p.namespace, Name: p.name, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF})
	if least := 2048; err == nil && bytes < least {
		err = fmt.Errorf("the response has %d bytes, which is too few for a pod", bytes)
	}
	return err
}

// list reads the pods of each of the namespaces. "" means all namespaces that the caller is allowed to
// read. It returns an error unless there are as many objects as expected in total.
func (r *reader) list(ctx context.Context, want int, namespaces ...string) error {
	objects := 0
	for _, namespace := range namespaces {
		got, err := r.service.list(ctx, r.on, &kubeconnectv1.ListRequest{
			Resource: "pods", Namespace: namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF})
		if err != nil {
			return err
		}
		objects += got.objects
	}
	if objects != want {
		return fmt.Errorf("the lists have %d objects, want %d", objects, want)
	}
	return nil
}

// reading is a read that is measured.
type reading func(context.Context, *reader) error

func podsOf(want int, namespaces ...string) reading {
	return func(ctx context.Context, r *reader) error { return r.list(ctx, want, namespaces...) }
}

func onePod(p place) reading {
	return func(ctx context.Context, r *reader) error { return r.get(ctx, p) }
}

// costing returns a costing of a read, after the read has been done once without measurement.
func (r *reader) costing(ctx context.Context, read reading) (*costing, error) {
	if err := read(ctx, r); err != nil {
		return nil, err
	}
	return newCosting(r.service.PID(), func() error { return read(ctx, r) })
}

// compareRights compares the cost of reads when the service authenticates and authorizes its callers
// with the cost of reading the same objects from a service that treats every caller as the
// kubeconfig's user. The services differ in nothing else.
func (l *lab) compareRights(ctx context.Context, results *report) error {
	everywhere, err := l.cluster.readerEverywhere(ctx)
	if err != nil {
		return err
	}
	inTwo, err := l.cluster.readerOf(ctx, "in-two", fanOutNamespace, listNamespace)
	if err != nil {
		return err
	}
	guarded, err := l.cluster.startForCallers(ctx, everywhere)
	if err != nil {
		return err
	}
	defer guarded.stop()
	open, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer open.stop()
	return withReaders([]*service{guarded, guarded.as(inTwo), open}, func(r []*reader) error {
		return l.compareReadings(ctx, l.readingPairs(r[0], r[1], r[2]), results)
	})
}

// withReaders runs a function with a reader of each service, and closes the readers.
func withReaders(services []*service, do func([]*reader) error) error {
	var all []*reader
	for _, s := range services {
		r, err := s.reader()
		if err != nil {
			return err
		}
		defer r.close()
		all = append(all, r)
	}
	return do(all)
}

// readingPair is two readings whose costs are compared. Each has a reader of a different service.
type readingPair struct {
	ourReader    *reader
	theirReader  *reader
	ours, theirs reading
	cpu, p50     row
}

func (l *lab) readingPairs(everywhere, inTwo, unauthenticated *reader) []*readingPair {
	few, all, pod := fanOutPods+l.pods/2, podsOf(l.pods, ""), onePod(placeOf(0, l.pods))
	read := func(what, against string) row {
		return row{what: what, against: against, ratio: more, first: "≤ 1.1×"}
	}
	const same = "the same without authentication"
	return []*readingPair{
		newReadingPair(read(fmt.Sprintf("list %d pods with permission in all namespaces", l.pods), same),
			everywhere, all, unauthenticated, all),
		newReadingPair(read("get a pod with permission in all namespaces", same),
			everywhere, pod, unauthenticated, pod),
		newReadingPair(
			read(fmt.Sprintf("list %d pods with permission in 2 namespaces", few), "a list of each without authentication"),
			inTwo, podsOf(few, ""), unauthenticated, podsOf(few, fanOutNamespace, listNamespace)),
	}
}

// newReadingPair returns a comparison of two readings. The row describes them and has no figures.
func newReadingPair(r row, ourReader *reader, ours reading, theirReader *reader, theirs reading) *readingPair {
	r.unit = "ms"
	b := &readingPair{ourReader: ourReader, theirReader: theirReader, ours: ours, theirs: theirs, cpu: r, p50: r}
	b.cpu.what, b.p50.what = r.what+", server CPU", "the same, p50"
	return b
}

func (l *lab) compareReadings(ctx context.Context, all []*readingPair, results *report) error {
	err := l.eachRound(func(int) error {
		for _, b := range all {
			if err := b.compare(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, b := range all {
		results.add(b.cpu, b.p50)
	}
	return err
}

// minPairCPU is like minCPU, for sides that differ by little.
const minPairCPU = time.Second

// compare reads from both services in turn, so that other load on the machine affects both sides.
func (b *readingPair) compare(ctx context.Context) error {
	ours, err := b.ourReader.costing(ctx, b.ours)
	if err != nil {
		return err
	}
	theirs, err := b.theirReader.costing(ctx, b.theirs)
	for err == nil && !(ours.hasUsed(minPairCPU) && theirs.hasUsed(minPairCPU)) {
		err = errors.Join(ours.runBatch(), theirs.runBatch())
	}
	if err != nil {
		return err
	}
	b.cpu.ours, b.cpu.theirs = append(b.cpu.ours, ours.cost().cpu), append(b.cpu.theirs, theirs.cost().cpu)
	b.p50.ours, b.p50.theirs = append(b.p50.ours, ours.cost().p50), append(b.p50.theirs, theirs.cost().p50)
	return nil
}
