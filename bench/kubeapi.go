package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// kubePageSize is the size of the pages of a list, which is that of kubectl and client-go.
	kubePageSize = 500
	// kubePace is the interval of the changes while lists of the newest state are read: the pods of a cluster with thousands of pods change
	// more often.
	kubePace = 50 * time.Millisecond
	// kubeInformers is the number of informers that start at once.
	kubeInformers = 100
)

// kubeSide is a server of Kubernetes' API: the service, or the API server.
type kubeSide struct {
	on      *connection
	address string
	pid     int
}

// read reads a response, and returns its body.
func (s kubeSide) read(ctx context.Context, path string, query url.Values, accept string) ([]byte, error) {
	var body []byte
	response, err := getAt(s.on, s.address, path, query, accept, func(data []byte) { body = append(body, data...) })
	if err != nil {
		return nil, err
	}
	return body, response.wait(ctx)
}

// list reads all pages of a list, and returns an error unless it has so many bytes.
func (s kubeSide) list(ctx context.Context, pageSize int, accept string, wantBytes int) error {
	size, query := 0, url.Values{}
	if pageSize > 0 {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	for {
		body, err := s.read(ctx, podsPath(listNamespace), query, accept)
		if err != nil {
			return err
		}
		size += len(body)
		token, err := continueOf(body, accept)
		if err != nil {
			return err
		}
		if token == "" {
			break
		}
		query.Set("continue", token)
	}
	if size < wantBytes {
		return fmt.Errorf("the list has %d bytes, want at least %d", size, wantBytes)
	}
	return nil
}

// continueOf returns the token of the next page from the beginning of a list, which has the metadata.
func continueOf(body []byte, accept string) (string, error) {
	if accept == asJSON {
		_, rest, found := bytes.Cut(body[:min(len(body), 4<<10)], []byte(`"metadata":`))
		if !found {
			return "", fmt.Errorf("the response is no list: %.200s", body)
		}
		var meta metav1.ListMeta
		err := json.NewDecoder(bytes.NewReader(rest)).Decode(&meta)
		return meta.Continue, err
	}
	// The list itself follows its kind in the envelope, and its first field is the metadata.
	_, rest, found := bytes.Cut(body[:min(len(body), 4<<10)], []byte("PodList"))
	if !found {
		return "", fmt.Errorf("the response is no list: %.200q", body)
	}
	_, _, tag := protowire.ConsumeTag(rest)
	_, length := protowire.ConsumeVarint(rest[tag:])
	list := rest[tag+length:]
	_, _, tag = protowire.ConsumeTag(list)
	encoded, length := protowire.ConsumeBytes(list[tag:])
	if length < 0 {
		return "", fmt.Errorf("the list has no metadata: %.200q", body)
	}
	var meta metav1.ListMeta
	err := meta.Unmarshal(encoded)
	return meta.Continue, err
}

// compareKubeAPI compares Kubernetes' API of the service with that of the API server, by the same requests.
func (l *lab) compareKubeAPI(ctx context.Context, results *report) error {
	changes, err := l.changer(ctx, func(number int) bool { return number < fanOutPods })
	if err != nil {
		return err
	}
	defer changes.close()
	return l.withCaller(ctx, func(c *caller) error {
		ours := kubeSide{c.ours, c.service.address, c.service.PID()}
		theirs := kubeSide{c.theirs, l.cluster.address, l.cluster.apiServer}
		if err := l.compareKubeLists(ctx, changes, ours, theirs, results); err != nil {
			return err
		}
		if err := l.compareKubeGets(ctx, ours, theirs, results); err != nil {
			return err
		}
		return l.compareKubeInformers(ctx, ours, theirs, results)
	})
}

// compareKubeLists compares lists of the newest state, while pods change.
func (l *lab) compareKubeLists(ctx context.Context, changes *changer, ours, theirs kubeSide, results *report) error {
	for _, kind := range []struct {
		row
		pageSize int
		accept   string
	}{
		{row{what: "whole, protobuf", first: "10×"}, 0, asProtobuf},
		{row{what: "whole, JSON", first: "5×"}, 0, asJSON},
		{row{what: fmt.Sprintf("in pages of %d, protobuf", kubePageSize), first: "8×"}, kubePageSize, asProtobuf},
	} {
		r := kind.row
		r.what = fmt.Sprintf("Kubernetes' API: list %d pods without a version, %s, server CPU", l.pods/2, kind.what)
		r.against, r.unit, r.ratio = "API server, the same request", "ms", less
		err := l.eachRound(func(int) error {
			for _, side := range []struct {
				kubeSide
				costs *[]float64
			}{{ours, &r.ours}, {theirs, &r.theirs}} {
				cost, err := whileChanging(ctx, changes, func() (cost, error) {
					return costOf(side.pid, func() error { return side.list(ctx, kind.pageSize, kind.accept, l.pods/2*2048) })
				})
				if err != nil {
					return err
				}
				*side.costs = append(*side.costs, cost.cpu)
			}
			return nil
		})
		if err != nil {
			return err
		}
		results.add(r)
	}
	return nil
}

// whileChanging measures while pods change at the interval of kubePace.
func whileChanging(ctx context.Context, changes *changer, measure func() (cost, error)) (measured cost, err error) {
	changing, stop := context.WithCancel(ctx)
	var writing sync.WaitGroup
	var writeErr error
	writing.Go(func() {
		if _, err := changes.trickle(changing, kubePace, time.Hour); changing.Err() == nil {
			writeErr = err
		}
	})
	measured, err = measure()
	stop()
	writing.Wait()
	return measured, errors.Join(err, writeErr)
}

// compareKubeGets compares the time of a read of one object, which the service passes on.
func (l *lab) compareKubeGets(ctx context.Context, ours, theirs kubeSide, results *report) error {
	r := row{what: "Kubernetes' API: get one pod, p50", against: "API server", unit: "ms", then: "≤ 0.3 ms more"}
	path := podsPath(listNamespace) + "/" + l.onePod(ctx)
	err := l.eachRound(func(int) error {
		for _, side := range []struct {
			kubeSide
			times *[]float64
		}{{ours, &r.ours}, {theirs, &r.theirs}} {
			cost, err := costOf(side.pid, func() error {
				body, err := side.read(ctx, path, nil, asProtobuf)
				if err == nil && len(body) < 1024 {
					err = fmt.Errorf("the response is no pod: %.200q", body)
				}
				return err
			})
			if err != nil {
				return err
			}
			*side.times = append(*side.times, cost.p50)
		}
		return nil
	})
	results.add(r)
	return err
}

// onePod returns the name of a pod of the namespace that is listed.
func (l *lab) onePod(ctx context.Context) string {
	list, err := l.cluster.client.CoreV1().Pods(listNamespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return "none" // the read fails
	}
	return list.Items[0].Name
}

// compareKubeInformers compares what informers that start at once cost the API server: each requests the objects by a watch, as client-go
// does.
func (l *lab) compareKubeInformers(ctx context.Context, ours, theirs kubeSide, results *report) error {
	r := row{
		what:    fmt.Sprintf("Kubernetes' API: %d informers of %d pods start, CPU of the API server", kubeInformers, l.pods/2),
		against: "informers at the API server", unit: "ms", ratio: less, first: "50×",
	}
	err := l.fewRounds(func(int) error {
		for _, side := range []struct {
			kubeSide
			costs *[]float64
		}{{ours, &r.ours}, {theirs, &r.theirs}} {
			used, err := cpuDuring(func() error { return side.startInformers(ctx) }, theirs.pid)
			if err != nil {
				return err
			}
			*side.costs = append(*side.costs, milliseconds(used[0]))
		}
		return nil
	})
	results.add(r)
	return err
}

// startInformers opens watches that begin with all objects, and blocks until each has received them.
func (s kubeSide) startInformers(ctx context.Context) error {
	query := url.Values{
		"watch": {"true"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"},
	}
	ends := make(chan struct{}, kubeInformers)
	var open []*stream
	for range kubeInformers {
		var last []byte
		isEnded := false
		opened, err := getAt(s.on, s.address, podsPath(listNamespace), query, asStream, func(data []byte) {
			// The mark can be in two pieces.
			last = append(last, data...)
			if !isEnded && bytes.Contains(last, []byte(metav1.InitialEventsAnnotationKey)) {
				isEnded = true
				ends <- struct{}{}
			}
			last = append(last[:0], last[max(0, len(last)-len(metav1.InitialEventsAnnotationKey)):]...)
		})
		if err != nil {
			return err
		}
		open = append(open, opened)
	}
	for range kubeInformers {
		select {
		case <-ends:
		case <-s.on.ended:
			return errors.New("the connection has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, each := range open {
		if err := s.on.cancel(each); err != nil {
			return err
		}
	}
	return nil
}
