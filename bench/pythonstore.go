package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// storeRounds is the number of rounds of stores, because the informer takes long to sync.
	storeRounds = 2
	// storeRest is the duration of the measurement at rest.
	storeRest = 5 * time.Second

	storeChangeRate = 500 // changes a second, in bursts of storeBurst
	storeBurst      = 10
	storeChangeTime = 5 * time.Second
	storeChanges    = storeChangeRate * int(storeChangeTime/time.Second)
)

// pythonStore is what a store has used.
type pythonStore struct {
	resting  float64 // memory in megabytes when it has settled
	restCPU  float64 // percent of a core at rest
	changing float64 // memory in megabytes after the changes
	change   float64 // CPU time of a change in microseconds
}

// comparePythonStores compares the store with the informer of the official client.
func (l *lab) comparePythonStores(ctx context.Context, s *service, results *report) error {
	changes, err := l.changer(ctx, func(number int) bool {
		return number >= fanOutPods && number < fanOutPods+storeChangeRate // in listNamespace
	})
	if err != nil {
		return err
	}
	defer changes.close()
	var ours, theirs []pythonStore
	err = repeat(storeRounds, func(int) error {
		informer, err := l.pythonStore(ctx, s, pythonOfficial, changes)
		if err != nil {
			return err
		}
		store, err := l.pythonStore(ctx, s, pythonObjects, changes)
		ours, theirs = append(ours, store), append(theirs, informer)
		return err
	})
	if err == nil {
		results.addPythonStores(l.pods/2, ours, theirs)
	}
	return err
}

// addPythonStores adds the rows of stores with a number of pods.
func (r *report) addPythonStores(pods int, ours, theirs []pythonStore) {
	during := fmt.Sprintf("the same, after %s of %d changes a second", storeChangeTime, storeChangeRate)
	for _, each := range []struct {
		what, unit, first string
		value             func(pythonStore) float64
	}{
		{fmt.Sprintf("store %d pods in Python, memory at rest", pods), "MB", "10×",
			func(s pythonStore) float64 { return s.resting }},
		{during, "MB", "10×", func(s pythonStore) float64 { return s.changing }},
		{"the same, client CPU", "µs a change", "", func(s pythonStore) float64 { return s.change }},
	} {
		compared := row{
			what: each.what, against: "informer of the official client", unit: each.unit, first: each.first, ratio: less,
		}
		for i := range ours {
			compared.ours = append(compared.ours, each.value(ours[i]))
			compared.theirs = append(compared.theirs, each.value(theirs[i]))
		}
		r.add(compared)
	}
	r.remark("at rest, the Python store used %.1f %% of a core, and the informer %.1f %%", ours[0].restCPU, theirs[0].restCPU)
}

// pythonStore returns what the store of a program uses.
func (l *lab) pythonStore(ctx context.Context, s *service, program string, changes *changer) (used pythonStore, err error) {
	p, err := l.startPython(s, program, "store", pythonNamespace{listNamespace, l.pods / 2})
	if err != nil {
		return pythonStore{}, err
	}
	defer p.stop()
	if _, err := p.report(ctx, func(r pythonReport) bool { return r.Synced }); err != nil {
		return pythonStore{}, err
	}
	if err := used.measureAtRest(ctx, p); err != nil {
		return pythonStore{}, err
	}
	if err := used.measureChanges(ctx, p, changes); err != nil {
		return pythonStore{}, err
	}
	p.stop()
	handled, err := p.report(ctx, func(r pythonReport) bool { return !r.Synced })
	if err == nil && handled.Count != storeChanges {
		err = fmt.Errorf("%s has handled %d changes, want %d", program, handled.Count, storeChanges)
	}
	return used, err
}

func (s *pythonStore) measureAtRest(ctx context.Context, p *pythonProcess) error {
	resting, err := settledRSS(ctx, p.PID())
	if err != nil {
		return err
	}
	cpu, err := cpuDuring(func() error { return pause(ctx, storeRest) }, p.PID())
	if err != nil {
		return err
	}
	s.resting, s.restCPU = megabytes(resting), 100*cpu[0].Seconds()/storeRest.Seconds()
	return nil
}

func (s *pythonStore) measureChanges(ctx context.Context, p *pythonProcess, changes *changer) error {
	cpu, err := cpuDuring(func() error {
		if err := changes.bursts(ctx, storeBurst, time.Second*storeBurst/storeChangeRate, storeChanges); err != nil {
			return err
		}
		return p.untilIdle(ctx)
	}, p.PID())
	if err != nil {
		return err
	}
	after, err := usageOf(p.PID())
	if err != nil {
		return err
	}
	s.change, s.changing = float64(cpu[0].Microseconds())/float64(storeChanges), megabytes(after.rss)
	return nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
