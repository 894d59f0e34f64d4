package main

import (
	"context"
	"os"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// informerStart is the time limit for an informer, or a service that preloads pods, to cache all pods.
const informerStart = 2 * time.Minute

// compareMemory compares the memory for one pod in the service with that in client-go's informers.
// Each informer runs in a separate process. The memory of the same process without pods is subtracted.
// The informers are at an advantage: they return all free memory to the operating system.
func (l *lab) compareMemory(ctx context.Context, results *report) error {
	rows := []row{
		{what: "memory for a cached pod", against: "client-go typed informer", first: "4×", then: "15×"},
		{what: "the same", against: "typed informer that drops managedFields"},
		{what: "the same", against: "client-go dynamic informer", first: "12×", then: "50×"},
	}
	for i := range rows {
		rows[i].unit, rows[i].ratio = "KB", less
	}
	err := l.fewRounds(func(int) error {
		ours, err := l.serviceKB(ctx)
		if err != nil {
			return err
		}
		theirs, err := l.informerKB(ctx)
		for i := range theirs {
			rows[i].ours, rows[i].theirs = append(rows[i].ours, ours), append(rows[i].theirs, theirs[i])
		}
		return err
	})
	results.add(rows...)
	return err
}

// serviceKB returns the memory of the service for one pod, in KiB.
func (l *lab) serviceKB(ctx context.Context) (float64, error) {
	s, err := l.cluster.startService(ctx, harness.Eager)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	empty, err := settledRSS(ctx, s.PID())
	if err != nil {
		return 0, err
	}
	if err := s.fill(ctx); err != nil {
		return 0, err
	}
	full, err := settledRSS(ctx, s.PID())
	return l.perPodKB(full - empty), err
}

func (l *lab) perPodKB(bytes int64) float64 { return float64(bytes) / float64(l.pods) / 1024 }

// informerKB returns the memory of each informer for one pod, in KiB, in the order of the table. The
// informers sync concurrently, because that takes long and its duration is not measured.
func (l *lab) informerKB(ctx context.Context) ([]float64, error) {
	kinds := []string{informerNone, informerTyped, informerLean, informerDynamic}
	rss := make([]int64, len(kinds))
	err := inParallel(ctx, len(kinds), len(kinds), func(i int) error {
		process, err := l.startInformer(ctx, kinds[i], informerSettled)
		if err != nil {
			return err
		}
		defer func() { _ = process.Stop() }()
		rss[i], err = settledRSS(ctx, process.PID())
		return err
	})
	var perPod []float64
	for _, full := range rss[1:] {
		perPod = append(perPod, l.perPodKB(full-rss[0]))
	}
	return perPod, err
}

// startInformer starts a process with an informer and waits until it prints a line.
func (l *lab) startInformer(ctx context.Context, kind, until string) (*harness.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process, err := harness.Start(self, informerCommand, kind, l.cluster.kubeconfig())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, informerStart)
	defer cancel()
	if _, err := process.UntilPrints(ctx, func(line string) bool { return line == until }); err != nil {
		_ = process.Stop()
		return nil, err
	}
	return process, nil
}
