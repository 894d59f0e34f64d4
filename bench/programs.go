package main

import (
	"context"
	"errors"
	"fmt"
)

// clientProgram is a program that uses one client for each of the tasks that are measured.
type clientProgram struct {
	file string // in the folder of its language
	name string // in the table
}

// programPair is a program that uses kubeconnect, and the one that it is compared with. The targets
// are optional.
type programPair struct {
	ours, theirs clientProgram
	listFirst    string // target of the CPU time of a list
	watchFirst   string // target of the CPU time of a change

	memoryFirst string // target of the memory of a store
	fillFirst   string // target of the CPU time until a store is filled; without it, there is no row
	storedFirst string // target of the CPU time of a change in a store
}

// language is the programs of one language, which have the same arguments and print the same reports.
type language struct {
	name     string
	install  string   // how to install the clients
	command  []string // that runs a program
	folder   string   // of the programs
	versions string   // the program that prints the versions of the clients

	pairs      []programPair
	slowPairs  []programPair // that list and watch fewer pods
	storePairs []programPair
}

// programs measures the programs of a language against the same service and API server.
type programs struct {
	*lab
	language
	service *service
	results *report
}

// programsOf returns the programs of some pairs, each once.
func programsOf(pairs []programPair) (programs []clientProgram) {
	seen := map[clientProgram]bool{}
	for _, pair := range pairs {
		for _, program := range []clientProgram{pair.theirs, pair.ours} {
			if !seen[program] {
				programs, seen[program] = append(programs, program), true
			}
		}
	}
	return programs
}

// withPrograms calls a function with the programs of a language, while the pods have no managedFields.
func (l *lab) withPrograms(ctx context.Context, in language, results *report, do func(*programs) error) (err error) {
	versions, err := in.run(ctx, in.versions)
	if err != nil {
		return fmt.Errorf("%w; %s", err, in.install)
	}
	results.remark("%s clients: %s", in.name, versions)
	pods, err := l.removeManagedFields(ctx, listNamespace, fanOutNamespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pods.restore(ctx)) }()
	s, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	return do(&programs{lab: l, language: in, service: s, results: results})
}

// compareTasks compares the programs for each task.
func (p *programs) compareTasks(ctx context.Context) error {
	for _, compare := range []func(*programs, context.Context) error{
		(*programs).compareLists, (*programs).compareWatches, (*programs).compareStores,
	} {
		if err := compare(p, ctx); err != nil {
			return err
		}
	}
	return nil
}

// each measures each program of some pairs in half of the rounds. A program that takes too long is
// stopped, reported, and not measured again.
func (p *programs) each(pairs []programPair, measure func(clientProgram) error) error {
	stopped := map[clientProgram]bool{}
	return p.fewRounds(func(int) error {
		for _, program := range programsOf(pairs) {
			if stopped[program] {
				continue
			}
			err := measure(program)
			if stopped[program] = errors.Is(err, errProgramStopped); stopped[program] {
				p.results.remark("%s: %v", program.name, err)
			} else if err != nil {
				return fmt.Errorf("%s: %w", program.file, err)
			}
		}
		return nil
	})
}
