// Command attacks measures what one caller of the service does to another. It starts a control plane
// and the service, makes the calls of callers with small permissions, and measures the calls of a good
// caller before and during each attack, in one run. The attackers run in processes of their own with a
// low priority, so that their clients do not count as the service's CPU time. They share the machine
// with it nevertheless: read the ratios of a run without attackers that need much of the machine
// themselves, and compare two runs on one machine.
//
// With -fields it measures instead what the service keeps and computes for each field of each RPC.
//
// It needs bin/devcluster and bin/kubeconnect, which `make build` builds, or the paths of others in
// DEVCLUSTER_BIN and -service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kubeconnect/kubeconnect/bench/callers"
)

// settings are the values of the flags.
type settings struct {
	service string        // path of the service
	only    string        // attacks or fields to run, by parts of their names; empty is all
	lasts   time.Duration // of each measurement
	fields  bool
}

// runTimeout bounds the duration of a run.
const runTimeout = 30 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "attacks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if text := os.Getenv(orderVariable); text != "" {
		return runAttacker(ctx, text)
	}
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	callers.Note("starting the control plane")
	l, err := newLab(ctx, s)
	if err != nil {
		return err
	}
	defer l.cluster.Stop()
	if s.fields {
		return l.measureFields(ctx, os.Stdout)
	}
	return l.measureAttacks(ctx, os.Stdout)
}

func readSettings(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("attacks", flag.ContinueOnError)
	flags.StringVar(&s.service, "service", "bin/kubeconnect", "path of the service")
	flags.StringVar(&s.only, "only", "", "run only these, comma-separated: parts of the names in the table")
	flags.DurationVar(&s.lasts, "lasts", 10*time.Second, "duration of each attack, and of the time before it")
	flags.BoolVar(&s.fields, "fields", false, "measure what each field of each RPC costs instead")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	s.service, err = filepath.Abs(s.service)
	return s, err
}
