package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// startPoll is how far apart the calls are that ask a service that starts whether it has all pods.
const startPoll = 10 * time.Millisecond

// started is what the start of a process has taken.
type started struct {
	full  float64 // seconds until it had all pods
	ready float64 // seconds until it said that it is ready; 0 for an informer
	peak  float64 // megabytes, the most memory that it has had
}

// compareStart compares a service that preloads pods with a process that has an informer of them: how long each takes
// from its start, and how much memory. Both collect their garbage as Go does by default.
func (l *lab) compareStart(ctx context.Context, results *report) error {
	const against = "client-go typed informer, until it has synced"
	full := row{what: fmt.Sprintf("start until %d pods are listed", l.pods), against: against, unit: "s", ratio: less}
	ready := row{what: "the same, until /readyz says so", against: against, unit: "s", ratio: less}
	peak := row{what: fmt.Sprintf("peak memory of the start with %d pods", l.pods), against: "client-go typed informer", unit: "MB", ratio: less}
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

// knowsPeak says that the operating system can be asked for a process's highest memory.
const knowsPeak = runtime.GOOS == "linux"

// startOfService starts a service that preloads pods, when the API server has come to rest.
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

// untilListed lists until the service answers, and fails unless the list has all pods. Only the first of them is sent.
func (s *service) untilListed(ctx context.Context, client *http.Client, pods int) error {
	resources := kubeconnectv1connect.NewResourceServiceClient(client, "https://"+s.address)
	for {
		page, err := resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: 1})
		if connect.CodeOf(err) == connect.CodeUnavailable && pause(ctx, startPoll) == nil {
			continue
		}
		if got := len(page.GetObjects()) + int(page.GetRemaining()); err == nil && got != pods {
			err = fmt.Errorf("the list has %d pods, want %d", got, pods)
		}
		return err
	}
}

// untilReady asks a service whether it is ready until it is.
func (s *service) untilReady(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.address+"/readyz", nil)
	if err != nil {
		return err
	}
	for {
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		if err := pause(ctx, startPoll); err != nil {
			return fmt.Errorf("it is not ready, /readyz says %s: %w", answer.Status, err)
		}
	}
}

// startOfInformer starts a process with an informer, when the API server has come to rest.
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

// peakMB is 0 where the operating system does not know.
func peakMB(pid int) (float64, error) {
	if !knowsPeak {
		return 0, nil
	}
	bytes, err := peakOf(pid)
	return float64(bytes) / 1e6, err
}
