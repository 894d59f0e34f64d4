// Command bench compares kubeconnect with the alternatives that its callers have: the API server
// itself, and client-go's informers. Both sides are measured in one run on one machine, against a
// control plane that the bench starts. The results are ratios.
//
// It needs bin/kubeconnect and bin/devcluster, which `make build` builds, or the paths of both in
// KUBECONNECT_BIN and DEVCLUSTER_BIN. README.md describes the output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// runTimeout is the time limit of a run.
const runTimeout = 45 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == sizingPageCommand {
		return writeSizingPage()
	}
	if len(args) == 3 && args[0] == simulateCommand {
		return runSimulator(ctx, args[1], args[2])
	}
	if len(args) == 3 && args[0] == informerCommand {
		return runInformer(ctx, args[1], args[2])
	}
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	if slices.Contains(s.only, sizingComparison) {
		return measureSizing(ctx, s, s.sizing)
	}
	return compare(ctx, s)
}

// settings are the values of the flags.
type settings struct {
	scale
	quick  bool
	only   []string
	output string
	dir    string
}

// scale is the size of every measurement.
type scale struct {
	rounds    int
	pods      int           // in total; half of them are in the namespace that is listed
	watchers  int           // of the fan-out comparison
	bursts    int           // in a round
	changes   int           // in a burst
	trickle   time.Duration // duration of changes at a steady rate
	crowd     int           // watchers, of which each change concerns one
	crowdTime time.Duration // duration of the crowd's measurement
	idle      int           // streams opened for each measurement of memory
	callers   int           // callers that watch one resource
	revoked   int           // callers whose permission is revoked

	sizing sizingScale

	programChanges int // that each program with a client watches in bursts, in all rounds
}

var (
	full = scale{
		rounds: 5, pods: 20000, watchers: 200, bursts: 20, changes: 50, trickle: 3 * time.Second,
		crowd: 5000, crowdTime: bookmarks, idle: 1000, callers: 1000, revoked: 40,
		sizing: fullSizing, programChanges: 10000,
	}
	quick = scale{
		rounds: 2, pods: 2000, watchers: 50, bursts: 10, changes: 20, trickle: time.Second,
		crowd: 500, crowdTime: bookmarks, idle: 200, callers: 100, revoked: 6,
		sizing: quickSizing, programChanges: 200,
	}
)

func readSettings(args []string) (settings, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "run only these comparisons, comma-separated: "+strings.Join(comparisonNames(), ", "))
	rounds := flags.Int("rounds", 0, "number of rounds (default 5); slow measurements run in half of them")
	pods := flags.Int("pods", 0, "number of pods in the cluster (default 20000)")
	fast := flags.Bool("quick", false, "a small run, to check that every comparison works; its figures mean little")
	output := flags.String("out", "", "also write the table to this file, after each comparison; with -only sizing, write the figures only to this file")
	dir := flags.String("dir", "", "keep the control plane and its pods in this directory, and reuse them in later runs")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	s := settings{scale: full, quick: *fast, output: *output, dir: *dir}
	if *fast {
		s.scale = quick
	}
	if *rounds > 0 {
		s.rounds = *rounds
	}
	if *pods > 0 {
		s.pods = *pods
	}
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	return s, s.check(flags.Args())
}

func (s settings) check(arguments []string) error {
	if len(arguments) > 0 {
		return fmt.Errorf("unexpected argument %q; see -help", arguments[0])
	}
	if s.pods < 4*fanOutPods {
		return fmt.Errorf("-pods %d is too small: use %d or more", s.pods, 4*fanOutPods)
	}
	for _, name := range s.only {
		if !slices.Contains(comparisonNames(), name) {
			return fmt.Errorf("unknown comparison %q in -only: use %s", name, strings.Join(comparisonNames(), ", "))
		}
	}
	switch {
	case !slices.Contains(s.only, sizingComparison):
		return nil
	case len(s.only) > 1:
		return fmt.Errorf("-only %s runs alone: name the others in another run", sizingComparison)
	case s.quick && s.output == "":
		return fmt.Errorf("-only %s -quick needs -out: its figures are not those of the documentation", sizingComparison)
	}
	return nil
}

// compare starts the control plane, runs the comparisons, and prints the table.
func compare(ctx context.Context, s settings) error {
	began := time.Now()
	results := &report{machine: thisMachine(), scale: s.scale}
	l, err := prepare(ctx, s, results)
	if err != nil {
		return err
	}
	defer l.cluster.stop()
	for _, c := range comparisons {
		if !s.wants(c.name) {
			continue
		}
		note("%s", c.name)
		if err := c.run(l, ctx, results); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		results.took = time.Since(began)
		if err := results.save(s.output); err != nil {
			return err
		}
	}
	results.took = time.Since(began)
	return errors.Join(results.save(s.output), results.write(os.Stdout))
}

// prepare starts the control plane and creates the pods, which takes minutes. It runs the idle
// comparison at the same time, because that one has its own control plane and measures no times.
func prepare(ctx context.Context, s settings, results *report) (l *lab, err error) {
	group, groupCtx := errgroup.WithContext(ctx)
	if s.wants(idleComparison) {
		group.Go(func() error { return compareIdle(groupCtx, s.scale, results) })
	}
	group.Go(func() (err error) {
		l, err = newLab(groupCtx, s, results)
		return err
	})
	if err := group.Wait(); err != nil {
		if l != nil {
			l.cluster.stop()
		}
		return nil, err
	}
	return l, nil
}

func (s settings) wants(comparison string) bool {
	return len(s.only) == 0 || slices.Contains(s.only, comparison)
}

// note logs the progress of a run to standard error.
func note(format string, values ...any) {
	_, _ = io.WriteString(os.Stderr, time.Now().Format("15:04:05 ")+fmt.Sprintf(format, values...)+"\n")
}
