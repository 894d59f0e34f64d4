package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// usage is the CPU time and memory of a process, as the operating system counts them.
type usage struct {
	cpu time.Duration
	rss int64 // bytes
}

// clockTick is the unit of CPU time in /proc/PID/stat: USER_HZ, which is 100 on every Linux.
const clockTick = 10 * time.Millisecond

// usageOf returns the usage of a process since its start.
func usageOf(pid int) (u usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system, pages int64
	_, err = fmt.Sscan(fields[11]+" "+fields[12]+" "+fields[21], &user, &system, &pages)
	return usage{time.Duration(user+system) * clockTick, pages * int64(os.Getpagesize())}, err
}

// measured is what was measured in a part of a run.
type measured struct {
	good  served
	cpu   time.Duration
	rss   int64 // the maximum
	took  time.Duration
	other outcome
}

// during measures the service and the good caller while do runs.
func during(ctx context.Context, s *callers.Service, clients harness.Clients, do func() (outcome, error)) (p measured, err error) {
	before, err := usageOf(s.PID())
	if err != nil {
		return p, err
	}
	began, done := time.Now(), make(chan struct{})
	var measuring sync.WaitGroup
	measuring.Go(func() { p.good = callUntil(ctx, clients, done) })
	measuring.Go(func() { p.rss = largestRSS(s.PID(), done) })
	p.other, err = do()
	p.took = time.Since(began)
	after, failed := usageOf(s.PID())
	p.cpu = after.cpu - before.cpu
	close(done)
	measuring.Wait()
	if err == nil && failed != nil {
		err = fmt.Errorf("the service has ended: %w", failed)
	}
	return p, err
}

// largestRSS samples the memory of a process until the channel is closed.
func largestRSS(pid int, done <-chan struct{}) (most int64) {
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		if used, err := usageOf(pid); err == nil {
			most = max(most, used.rss)
		}
		select {
		case <-ticks.C:
		case <-done:
			return most
		}
	}
}

const attacksHeading = `| Attack | Part | p50 / p99 before, ms | p50 / p99 during, ms | p99 ratio | CPU s | of s | RSS MiB | The attackers got |
|---|---|---|---|---|---|---|---|---|
`

// measureAttacks measures all attacks, each against a service of its own, and prints a table.
func (l *lab) measureAttacks(ctx context.Context, to io.Writer) error {
	text := attacksHeading
	for _, chosen := range attacks {
		if !callers.Selects(l.only, chosen.name) {
			continue
		}
		callers.Note("%s", chosen.name)
		rows, err := l.measureAttack(ctx, chosen)
		if err != nil {
			return fmt.Errorf("%s: %w", chosen.name, err)
		}
		text += rows
	}
	_, err := io.WriteString(to, text)
	return err
}

func (l *lab) measureAttack(ctx context.Context, chosen attack) (rows string, err error) {
	s, err := l.start(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Stop() }()
	attacker, err := startAttacker(ctx, order{
		Attack: chosen.name, Address: s.Address, Tokens: l.tokens, APIServer: l.cluster.Config.Host, CA: l.cluster.Config.CAData, Lasts: l.lasts,
	})
	if err != nil {
		return "", err
	}
	clients := dial(s.Address, l.tokens["good"])
	before, err := during(ctx, s, clients, func() (o outcome, err error) { callers.Wait(ctx, l.lasts); return o, nil })
	if err != nil {
		return "", err
	}
	for i, name := range []string{"opening", "acting"} {
		got, err := during(ctx, s, clients, attacker.next)
		if err != nil {
			return rows, err
		}
		if did := []bool{chosen.open != nil, chosen.act != nil}[i]; did {
			rows += row(chosen.name, name, before, got)
			callers.Note("%s", row(chosen.name, name, before, got))
		}
	}
	return rows, attacker.end()
}

func row(name, part string, before, got measured) string {
	return fmt.Sprintf("| %s | %s | %s | %s | %.1f | %.1f | %.0f | %d | %s |\n", name, part, before.good, got.good,
		float64(got.good.percentile(99))/float64(max(before.good.percentile(99), 1)), got.cpu.Seconds(), got.took.Seconds(), got.rss>>20,
		strings.Join(append([]string{callers.Text(got.other.Codes)}, got.other.Notes...), " "))
}
