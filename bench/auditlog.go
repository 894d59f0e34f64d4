package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// compareAudit compares the cost of calls of a service that writes an audit log with the cost of the same calls of one
// that does not. The services differ in nothing else.
func (l *lab) compareAudit(ctx context.Context, results *report) error {
	caller, err := l.cluster.readerEverywhere(ctx)
	if err != nil {
		return err
	}
	file := l.cluster.file("kubeconnect-audit.log")
	defer func() { _ = os.Remove(file) }()
	audited, err := l.cluster.startForCallers(ctx, caller, "KUBECONNECT_AUDIT_LOG="+file)
	if err != nil {
		return err
	}
	defer audited.stop()
	plain, err := l.cluster.startForCallers(ctx, caller)
	if err != nil {
		return err
	}
	defer plain.stop()
	return withReaders([]*service{audited, plain}, func(r []*reader) error {
		pair := func(what, first string, read reading) *readingPair {
			return newReadingPair(row{what: what, against: "the same without an audit log", ratio: more, first: first}, r[0], read, r[1], read)
		}
		pod := placeOf(0, l.pods)
		return l.compareReadings(ctx, []*readingPair{
			pair("get a pod, audited", "≤ 1.1×", onePod(pod)),                            // one event
			pair("open and close a watch of a pod, audited", "≤ 1.2×", openedWatch(pod)), // two
		}, results)
	})
}

// openedWatch returns the reading that opens a watch of one pod, and closes it when the pod has been received.
func openedWatch(p place) reading {
	return func(ctx context.Context, r *reader) error { return r.openWatch(ctx, p) }
}

func (r *reader) openWatch(ctx context.Context, p place) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	received := make(chan struct{})
	note := sync.OnceFunc(func() { close(received) })
	opened, err := r.service.watch(r.on, &kubeconnectv1.WatchRequest{
		Resource: "pods", Namespace: p.namespace, Name: p.name, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}, func([]byte) { note() })
	if err != nil {
		return err
	}
	select {
	case <-received:
		return r.on.cancel(opened)
	case <-opened.ended:
		return fmt.Errorf("the watch has ended: %w", opened.failure)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
