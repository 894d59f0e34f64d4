package informer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// recorder has what an informer reports. Its methods are safe for concurrent use.
type recorder struct {
	mu      sync.Mutex // guards the fields below
	calls   map[string][]call
	objects map[string]version
	fewest  int  // the smallest number of objects that a reader saw since the first report
	ended   bool // whether the informer has ended
	lines   []string
}

func newRecorder() *recorder { return &recorder{calls: make(map[string][]call)} }

func (r *recorder) call(c call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[c.Handlers] = append(r.calls[c.Handlers], c)
}

// store records the objects of the store.
func (r *recorder) store(objects map[string]version, fewest int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects, r.fewest = objects, fewest
}

// line records a line that a program prints: see informer_report.py.
func (r *recorder) line(text string) {
	var report struct {
		Step string
		call
		Objects map[string]version
		Fewest  int
	}
	switch err := json.Unmarshal([]byte(text), &report); {
	case err != nil:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines = append(r.lines, text)
	case report.Step == "call":
		r.call(report.call)
	case report.Step == "store":
		r.store(report.Objects, report.Fewest)
	}
}

// end records that the informer has ended.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

func (r *recorder) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// received returns the calls of one subscription after the first ones.
func (r *recorder) received(handlers string, first int) []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls[handlers][first:])
}

// fewestRead returns the smallest number of objects that readers saw.
func (r *recorder) fewestRead() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fewest
}

// storeDiffers returns an error unless the store has these objects.
func (r *recorder) storeDiffers(want map[string]version) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !maps.Equal(r.objects, want) {
		return fmt.Errorf("the store differs from the cluster: %s", difference(r.objects, want))
	}
	return nil
}

// handlersDiffer returns an error unless the calls of a subscription leave these objects.
func (r *recorder) handlersDiffer(handlers string, want map[string]version) error {
	got, _ := fold(r.received(handlers, 0))
	if !maps.Equal(got, want) {
		return fmt.Errorf("the objects of the %s handlers differ from the cluster: %s", handlers, difference(got, want))
	}
	return nil
}

// difference returns the first differences between two sets of objects.
func difference(got, want map[string]version) string {
	const shown = 5
	names := make(map[string]version)
	maps.Copy(names, got)
	maps.Copy(names, want)
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got[name] != want[name] {
			texts = append(texts, fmt.Sprintf("%s is %v, want %v", name, got[name], want[name]))
		}
	}
	if len(texts) > shown {
		texts = append(texts[:shown], fmt.Sprintf("and %d more", len(texts)-shown))
	}
	return fmt.Sprintf("%q", texts)
}
