package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// cachedNamespaces is the number of namespaces that are cached one by one.
	cachedNamespaces = 200
	// atRest is the time in which the requests of a service without callers are counted.
	atRest = 30 * time.Second
)

// scopedUse is what a service costs that has cached all pods.
type scopedUse struct {
	start    float64 // seconds until it had cached its pods
	rss      float64 // megabytes
	read     float64 // megabytes that it had read then, from files and connections
	requests float64 // to the API server, in atRest
}

// readBy returns the bytes that a process has read from files and connections.
func readBy(pid int) (int64, error) {
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(io)) {
		if bytes, ok := strings.CutPrefix(line, "rchar: "); ok {
			return strconv.ParseInt(strings.TrimSpace(bytes), 10, 64)
		}
	}
	return 0, fmt.Errorf("cannot parse what the process has read: %q", io)
}

// compareScopes compares a service that caches pods by a watch of each of 200 namespaces with one that caches them by one watch.
// The pods are in three of the namespaces. It also compares a service that caches the pods of one node with one that caches all.
func (l *lab) compareScopes(ctx context.Context, results *report) error {
	const against = "one watch for all namespaces"
	start := row{what: fmt.Sprintf("start with %d namespaces until %d pods are listed", cachedNamespaces, l.pods), against: against, unit: "s", ratio: more}
	memory := row{what: "the same, memory", against: against, unit: "MB", ratio: more}
	requests := row{what: fmt.Sprintf("the same, requests to the API server in %.0f s without callers", atRest.Seconds()), against: against, ratio: more}
	ofNode := row{what: fmt.Sprintf("memory of a service that caches the %d pods of one node", podsOfNode), against: fmt.Sprintf("all %d pods", l.pods), unit: "MB", ratio: less}
	read := row{what: "the same, bytes read until then", against: ofNode.against, unit: "MB", ratio: less}
	names := "KUBECONNECT_NAMESPACES=scope-*," + listNamespace + "," + fanOutNamespace + "," + restNamespace
	if err := l.createScopes(ctx); err != nil {
		return err
	}
	err := l.fewRounds(func(int) error {
		ours, err := l.scopedUse(ctx, l.pods, names)
		if err != nil {
			return err
		}
		theirs, err := l.scopedUse(ctx, l.pods)
		if err != nil {
			return err
		}
		part, err := l.scopedUse(ctx, podsOfNode, "KUBECONNECT_SELECT_FIELDS=pods=spec.nodeName="+nodeOf(0, l.pods))
		ofNode.ours, ofNode.theirs = append(ofNode.ours, part.rss), append(ofNode.theirs, theirs.rss)
		read.ours, read.theirs = append(read.ours, part.read), append(read.theirs, theirs.read)
		start.ours, start.theirs = append(start.ours, ours.start), append(start.theirs, theirs.start)
		memory.ours, memory.theirs = append(memory.ours, ours.rss), append(memory.theirs, theirs.rss)
		requests.ours, requests.theirs = append(requests.ours, ours.requests), append(requests.theirs, theirs.requests)
		return err
	})
	results.add(start, memory, requests, ofNode, read)
	return err
}

// createScopes creates empty namespaces, so that there are cachedNamespaces with those of the pods.
func (l *lab) createScopes(ctx context.Context) error {
	return inParallel(ctx, parallelCreates, cachedNamespaces-3, func(number int) error {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("scope-%03d", number)}}
		_, err := l.cluster.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		return ignoreExists(err)
	})
}

// scopedUse waits for calm, and returns the cost of a service with the given environment variables that caches some pods.
func (l *lab) scopedUse(ctx context.Context, pods int, variables ...string) (use scopedUse, err error) {
	if err := pause(ctx, calm); err != nil {
		return use, err
	}
	began := time.Now()
	s, err := l.cluster.startService(ctx, append([]string{"KUBECONNECT_PRELOAD=pods"}, variables...)...)
	if err != nil {
		return use, err
	}
	defer s.stop()
	client, closeIdle := s.client()
	defer closeIdle()
	if err := s.untilListed(ctx, client, pods); err != nil {
		return use, err
	}
	use.start = time.Since(began).Seconds()
	rss, err := settledRSS(ctx, s.PID())
	if err != nil {
		return use, err
	}
	use.rss = float64(rss) / 1e6
	read, err := readBy(s.PID())
	if err != nil {
		return use, err
	}
	use.read = float64(read) / 1e6
	before, err := l.cluster.metric(ctx, "apiserver_request_total")
	if err != nil {
		return use, err
	}
	if err := pause(ctx, atRest); err != nil {
		return use, err
	}
	after, err := l.cluster.metric(ctx, "apiserver_request_total")
	use.requests = after - before
	return use, err
}
