package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// idleComparison is the name of the comparison that needs no pods.
const idleComparison = "idle"

// compareIdle compares the memory of an idle stream, measured as the growth of each server when
// further streams are opened. It starts its own control plane, so that the API server and the service
// run with the same garbage collection setting ([harness.Eager]), and the heap of neither has a large
// reserve.
func compareIdle(ctx context.Context, s scale, results *report) error {
	for _, perConnection := range []int{100, 1} {
		r := row{
			what:    fmt.Sprintf("memory of an idle stream, %s", shared(perConnection)),
			against: "API server watch, protobuf", unit: "KB", ratio: less, first: "1×", then: "6×",
		}
		if err := s.growWith(ctx, perConnection, &r); err != nil {
			return err
		}
		results.add(r)
	}
	return nil
}

func shared(perConnection int) string {
	if perConnection == 1 {
		return "each with a connection of its own"
	}
	return fmt.Sprintf("%d on a connection", perConnection)
}

func (s scale) growWith(ctx context.Context, perConnection int, r *row) error {
	cluster, err := startControlPlane(ctx, "", harness.Eager)
	if err != nil {
		return err
	}
	defer cluster.stop()
	kubeconnect, err := cluster.startFilled(ctx, harness.Eager)
	if err != nil {
		return err
	}
	defer kubeconnect.stop()
	version, err := cluster.version(ctx, emptyNamespace)
	if err != nil {
		return err
	}
	ours := &growing{
		server: kubeconnect.watchedBy(podsIn(emptyNamespace, "")), pid: kubeconnect.PID(), perConnection: perConnection,
	}
	defer ours.close()
	theirs := &growing{
		server: cluster.watchedFrom(emptyNamespace, version), pid: cluster.apiServer, perConnection: perConnection,
	}
	defer theirs.close()
	return s.compareGrowth(ctx, ours, theirs, r)
}

// compareGrowth opens more streams in every round and closes none, because a process does not return
// its memory at once. The first streams are not counted: they use up the reserve of the heaps.
func (s scale) compareGrowth(ctx context.Context, ours, theirs *growing, r *row) error {
	if _, err := ours.grow(ctx, s.idle); err != nil {
		return err
	}
	if _, err := theirs.grow(ctx, s.idle); err != nil {
		return err
	}
	return s.fewRounds(func(int) error {
		a, err := ours.grow(ctx, s.idle)
		if err != nil {
			return err
		}
		b, err := theirs.grow(ctx, s.idle)
		r.ours, r.theirs = append(r.ours, a), append(r.theirs, b)
		return err
	})
}

// growing is a server with an increasing number of watchers.
type growing struct {
	server
	pid           int
	perConnection int

	rss       int64
	audiences []*audience
}

// grow opens more streams, and returns the growth of the server's memory for each of them, in KiB.
func (g *growing) grow(ctx context.Context, streams int) (float64, error) {
	a, err := g.open(ctx, streams, g.perConnection)
	if err != nil {
		return 0, err
	}
	g.audiences = append(g.audiences, a)
	if err := pause(ctx, time.Second); err != nil {
		return 0, err
	}
	before := g.rss
	g.rss, err = settledRSS(ctx, g.pid)
	return float64(g.rss-before) / float64(streams) / 1024, err
}

func (g *growing) close() {
	for _, a := range g.audiences {
		a.close()
	}
}
