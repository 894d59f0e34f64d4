package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"connectrpc.com/connect/v2"
	"golang.org/x/sync/errgroup"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// startPoll is the interval between calls to a starting service.
const startPoll = 10 * time.Millisecond

// started is the duration and the memory of the start of a process.
type started struct {
	full  float64 // seconds until it had cached all pods
	ready float64 // seconds until it was ready; 0 for an informer
	peak  float64 // peak memory in megabytes
}

// compareStart compares the start of a service that preloads pods with that of a process with an
// informer of pods: the time from the start of the process, and its peak memory. Both run with Go's
// default garbage collection.
func (l *lab) compareStart(ctx context.Context, results *report) error {
	const against = "client-go typed informer, until it has synced"
	full := row{what: fmt.Sprintf("start until %d pods are listed", l.pods), against: against, unit: "s", ratio: less}
	ready := row{what: "the same, until /readyz responds with 200", against: against, unit: "s", ratio: less}
	peak := row{
		what:    fmt.Sprintf("peak memory of the start with %d pods", l.pods),
		against: "client-go typed informer", unit: "MB", ratio: less,
	}
	err := l.eachRound(func(int) error {
		ours, err := l.startOfService(ctx)
		if err != nil {
			return fmt.Errorf("kubeconnect: %w", err)
		}
		theirs, err := l.startOfInformer(ctx)
		full.ours, full.theirs = append(full.ours, ours.full), append(full.theirs, theirs.full)
		ready.ours, ready.theirs = append(ready.ours, ours.ready), append(ready.theirs, theirs.full)
		peak.ours, peak.theirs = append(peak.ours, ours.peak), append(peak.theirs, theirs.peak)
		return err
	})
	results.add(full, ready)
	if knowsPeak {
		results.add(peak)
	}
	return err
}

// knowsPeak reports whether the operating system records the peak memory of a process.
const knowsPeak = runtime.GOOS == "linux"

// startOfService waits for calm, starts a service that preloads pods, and returns the cost of the
// start.
func (l *lab) startOfService(ctx context.Context) (took started, err error) {
	if err := pause(ctx, calm); err != nil {
		return started{}, err
	}
	began := time.Now()
	s, err := l.cluster.startService(ctx, "KUBECONNECT_PRELOAD=pods")
	if err != nil {
		return started{}, err
	}
	defer s.stop()
	client, closeIdle := s.client()
	defer closeIdle()
	ctx, cancel := context.WithTimeout(ctx, informerStart)
	defer cancel()
	waiting, ctx := errgroup.WithContext(ctx)
	waiting.Go(func() error {
		err := s.untilListed(ctx, client, l.pods)
		took.full = time.Since(began).Seconds()
		return err
	})
	waiting.Go(func() error {
		err := s.untilReady(ctx, client)
		took.ready = time.Since(began).Seconds()
		return err
	})
	if err := waiting.Wait(); err != nil {
		return started{}, err
	}
	took.peak, err = peakMB(s.PID())
	return took, err
}

// untilListed repeats a list until the service is available, and returns an error unless the list has
// all pods. Only the first pod is sent.
func (s *service) untilListed(ctx context.Context, client *http.Client, pods int) error {
	resources := s.resources(client)
	for {
		page, err := resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1})
		if connect.CodeOf(err) == connect.CodeUnavailable && pause(ctx, startPoll) == nil {
			continue
		}
		if got := len(page.GetObjects()) + int(page.GetRemainingItemCount()); err == nil && got != pods {
			err = fmt.Errorf("the list has %d pods, want %d", got, pods)
		}
		return err
	}
}

// untilReady polls /readyz until the service is ready.
func (s *service) untilReady(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.address+"/readyz", nil)
	if err != nil {
		return err
	}
	for {
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		if err := pause(ctx, startPoll); err != nil {
			return fmt.Errorf("the service is not ready, /readyz responds with %s: %w", response.Status, err)
		}
	}
}

// startOfInformer waits for calm, starts a process with an informer, and returns the cost of the start.
func (l *lab) startOfInformer(ctx context.Context) (took started, err error) {
	if err := pause(ctx, calm); err != nil {
		return started{}, err
	}
	began := time.Now()
	process, err := l.startInformer(ctx, informerTyped, informerFull)
	if err != nil {
		return started{}, err
	}
	defer func() { _ = process.Stop() }()
	took.full = time.Since(began).Seconds()
	took.peak, err = peakMB(process.PID())
	return took, err
}

// peakMB returns the peak memory of a process in megabytes, or 0 if the operating system does not
// record it.
func peakMB(pid int) (float64, error) {
	if !knowsPeak {
		return 0, nil
	}
	bytes, err := peakOf(pid)
	return float64(bytes) / 1e6, err
}
