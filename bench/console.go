package main

import (
	"context"
	"fmt"
	"time"
)

// consoleChanges is the time between two changes while a tab is measured: 500 a second.
const consoleChanges = 2 * time.Millisecond

// spread is a way in which changes are spread over the pods.
type spread struct {
	name      string
	concerned func(number int) bool
}

var spreads = []spread{
	{"spread over all pods", func(int) bool { return true }},
	{fmt.Sprintf("to the first %d rows", fanOutPods), func(number int) bool { return number < fanOutPods }},
}

// compareConsole compares the table of pods of the console with a page that lists and watches all pods
// at the API server, while the pods change.
func (l *lab) compareConsole(ctx context.Context, results *report) error {
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	pages, err := l.startWholePages()
	if err != nil {
		return err
	}
	defer pages.close()
	for _, changed := range spreads {
		if err := l.compareTabs(ctx, changed, s, pages, results); err != nil {
			return fmt.Errorf("changes %s: %w", changed.name, err)
		}
	}
	return nil
}

// compareTabs adds the rows for one spread of the changes.
func (l *lab) compareTabs(ctx context.Context, changed spread, s *service, pages *wholePages, results *report) error {
	changes, err := l.changer(ctx, changed.concerned)
	if err != nil {
		return err
	}
	defer changes.close()
	if err := changes.changePhases(); err != nil {
		return err
	}
	changes.shuffle()
	var ours, theirs []tabCost
	err = l.fewRounds(func(int) error {
		our, err := openTab(ctx, s.address, "/r/pods", changes)
		if err != nil {
			return fmt.Errorf("the console: %w", err)
		}
		their, err := openTab(ctx, pages.address, "/whole.html", changes)
		if err != nil {
			return fmt.Errorf("the page with all pods: %w", err)
		}
		ours, theirs = append(ours, our), append(theirs, their)
		return nil
	})
	if err != nil {
		return err
	}
	l.addTabs(results, changed, ours, theirs)
	return nil
}

// tabRows are the rows of the table for a tab.
var tabRows = []struct {
	what, unit, first string
	value             func(tabCost) float64
}{
	{"first rows shown after", "ms", "≤ 1,000 ms", func(c tabCost) float64 { return c.shown }},
	{"frame time (p95) at rest", "ms", "≤ 20 ms", func(c tabCost) float64 { return c.steady.P95 }},
	{"frame time (p95) while scrolling", "ms", "≤ 20 ms", func(c tabCost) float64 { return c.scrolled.P95 }},
	{"heap of JavaScript", "MB", "≤ 150 MB", func(c tabCost) float64 { return c.heap }},
	{"bytes received", "KB/s", "≤ 50 KB/s", func(c tabCost) float64 { return c.received }},
	{"CPU of the tab", "ms/s", "", func(c tabCost) float64 { return 1000 * c.cpu }},
}

func (l *lab) addTabs(results *report, changed spread, ours, theirs []tabCost) {
	for _, r := range tabRows {
		line := row{
			what:    fmt.Sprintf("table of %d pods, 500 changes/s %s, %s", l.pods, changed.name, r.what),
			against: "all pods in the tab", unit: r.unit, ratio: less, first: r.first,
		}
		for i := range ours {
			line.ours, line.theirs = append(line.ours, r.value(ours[i])), append(line.theirs, r.value(theirs[i]))
		}
		results.add(line)
	}
	for i := range ours {
		results.remark("%s, round %d: the console: %s; all pods in the tab: %s", changed.name, i+1, ours[i], theirs[i])
	}
}
