// Command drills measures what callers see while replicas of the service, the API server or its reviews
// fail. It starts a control plane and three replicas behind a balancer. Callers, each with permissions in
// one namespace, watch its ConfigMaps in Go, Python and TypeScript while these change, and make other
// calls. Between the service and the API server is a proxy that counts reviews and fails them. For each
// drill it prints how long streams were silent and how long they were not current, the RESETs, losses
// and failed calls, and the number of reviews. At the end of each drill, the objects of all streams are
// compared with those of the API server.
//
// It needs bin/devcluster and bin/kubeconnect, which `make build` builds, and the compiled clients. To
// compare with an earlier version, pass its service in -service and its checkout in -clients.
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
	service string // path of the service
	clients string // path of the checkout with the clients
	python  string // path of the interpreter
	peers   string // DNS name of the replicas; empty if they do not know each other
	only    string // drills to run, by parts of their names; empty is all
}

// runTimeout bounds the duration of a run.
const runTimeout = 25 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "drills:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	callers.Note("starting the control plane")
	l, err := newLab(ctx, s)
	if err != nil {
		return err
	}
	defer l.close()
	return l.measure(ctx, os.Stdout)
}

func readSettings(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("drills", flag.ContinueOnError)
	flags.StringVar(&s.service, "service", "bin/kubeconnect", "path of the service")
	flags.StringVar(&s.clients, "clients", ".", "path of the checkout with the clients")
	flags.StringVar(&s.python, "python", ".venv/bin/python", "path of a Python interpreter with the packages that the client needs")
	flags.StringVar(&s.peers, "peers", "", "DNS name of 127.0.0.2 to 127.0.0.7, such as one of /etc/hosts, with which the replicas find each other")
	flags.StringVar(&s.only, "only", "", "run only these, comma-separated: parts of the names in the table")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	for _, path := range []*string{&s.service, &s.clients, &s.python} {
		if *path, err = filepath.Abs(*path); err != nil {
			return s, err
		}
	}
	return s, nil
}
