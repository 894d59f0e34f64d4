package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// tabTime is the duration of each measurement of a tab.
	tabTime = 10 * time.Second
	// tabStepTimeout is the time limit of each step of browser/tab.mjs.
	tabStepTimeout = 2 * time.Minute
	// tabRow and tabScroller select a row with a pod, and the element that scrolls, in all pages.
	tabRow, tabScroller = "[role=grid] [role=row] a", "[role=grid]"
)

// tabCost is what a page with a table of pods costs, while pods change.
type tabCost struct {
	shown    float64 // milliseconds from the start of the navigation to the first painted row
	steady   tabFrames
	scrolled tabFrames
	received float64 // kilobytes a second, while it is not scrolled
	cpu      float64 // seconds of CPU time a second, while it is not scrolled
	heap     float64 // megabytes in use after a garbage collection
	peak     float64 // megabytes in use before it
	rate     float64 // changes a second
}

// tabFrames are the frames of a page during tabTime.
type tabFrames struct {
	P50, P95 float64 // milliseconds between frames
	Changes  int     // of texts in rows
	Complete float64 // the part of the frames that showed pods in all rows
}

func (c tabCost) String() string {
	return fmt.Sprintf("frames %.0f/%.0f ms (p50/p95) at rest and %.0f/%.0f ms while scrolling, when %.0f %% of the frames "+
		"had no row to wait for; %d texts changed; heap %.0f MB before the collection; %.0f changes a second",
		c.steady.P50, c.steady.P95, c.scrolled.P50, c.scrolled.P95, 100*c.scrolled.Complete, c.steady.Changes, c.peak, c.rate)
}

// tabReport is a line that browser/tab.mjs prints.
type tabReport struct {
	Step  string  `json:"step"`
	Shown float64 `json:"shown"` // milliseconds
	CPU   float64 `json:"cpu"`   // seconds
	Heap  int64   `json:"heap"`  // bytes
	Peak  int64   `json:"peak"`  // bytes
	tabFrames
}

// openTab measures a page of a TLS server in a new browser, while pods change.
func openTab(ctx context.Context, address, path string, changes *changer) (cost tabCost, err error) {
	counted, err := forwardTo(address)
	if err != nil {
		return tabCost{}, err
	}
	defer counted.close()
	process, err := harness.Start(program("NODE", "node"), "bench/browser/tab.mjs",
		"https://"+counted.address()+path, tabRow, tabScroller, strconv.Itoa(int(tabTime.Seconds())))
	if err != nil {
		return tabCost{}, err
	}
	defer func() { _ = process.Stop() }()
	err = changes.meanwhile(ctx, consoleChanges, func(ctx context.Context) (err error) {
		cost, err = measureTab(ctx, process, counted, changes)
		return err
	})
	return cost, err
}

// measureTab reads the reports of browser/tab.mjs.
func measureTab(ctx context.Context, process *harness.Process, counted *forwarder, changes *changer) (cost tabCost, err error) {
	step := func(name string) (report tabReport) {
		if err == nil {
			report, err = tabStep(ctx, process, name)
		}
		return report
	}
	cost.shown = step("shown").Shown
	step("steady")
	began, bytes, written := time.Now(), counted.received(), changes.written.Load()
	steady := step("steadied")
	lasted := time.Since(began).Seconds()
	cost.steady, cost.cpu = steady.tabFrames, steady.CPU/lasted
	cost.received = float64(counted.received()-bytes) / 1e3 / lasted
	cost.rate = float64(changes.written.Load()-written) / lasted
	cost.scrolled = step("scrolled").tabFrames
	end := step("end")
	cost.heap, cost.peak = megabytes(end.Heap), megabytes(end.Peak)
	return cost, err
}

// tabStep blocks until a step is reported.
func tabStep(ctx context.Context, process *harness.Process, name string) (found tabReport, err error) {
	ctx, cancel := context.WithTimeout(ctx, tabStepTimeout)
	defer cancel()
	_, err = process.UntilPrints(ctx, func(line string) bool {
		found = tabReport{}
		return json.Unmarshal([]byte(line), &found) == nil && found.Step == name
	})
	return found, err
}
