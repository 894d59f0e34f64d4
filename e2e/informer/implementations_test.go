package informer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// The names of the implementations.
const (
	clientGo = "client-go"
	official = "kubernetes (Python)"
	threads  = "kubeconnect, threads"
	routines = "kubeconnect, asyncio"
)

// implementation is an informer. start starts it, and returns a function that ends it and blocks
// until it has ended.
type implementation struct {
	name  string
	ours  bool // whether it reads from the service
	start func(*testing.T, settings, *recorder) (stop func())
}

var implementations = []implementation{
	{name: clientGo, start: startClientGo},
	{name: official, start: startProgram("informer_official.py")},
	{name: threads, ours: true, start: startProgram("informer_store.py")},
	{name: routines, ours: true, start: startProgram("informer_store.py")},
}

// ours returns the implementations that read from the service.
func ours() (found []implementation) {
	for _, each := range implementations {
		if each.ours {
			found = append(found, each)
		}
	}
	return found
}

// settings are what an informer follows, and the argument of the programs: see informer_report.py.
type settings struct {
	Namespace     string  `json:"namespace"`
	LabelSelector string  `json:"label_selector,omitempty"`
	Way           string  `json:"way,omitempty"`
	Address       string  `json:"address,omitempty"`
	Kubeconfig    string  `json:"kubeconfig,omitempty"`
	Dump          string  `json:"dump,omitempty"`
	Release       string  `json:"release,omitempty"`
	Pause         float64 `json:"pause,omitempty"`
}

// startProgram returns the start of a program that is written in Python.
func startProgram(file string) func(*testing.T, settings, *recorder) func() {
	return func(t *testing.T, arguments settings, record *recorder) func() {
		t.Helper()
		encoded, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		program := kit.StartProgram(t, kit.PythonProgram(t, "python", file), string(encoded))
		read := make(chan struct{})
		go func() {
			defer close(read)
			// It returns when the program has ended, because no line matches.
			_, _ = program.Process.UntilPrints(t.Context(), func(line string) bool {
				record.line(line)
				return false
			})
			record.end()
		}()
		return func() {
			_ = program.Process.Stop()
			<-read
			record.mu.Lock()
			defer record.mu.Unlock()
			if t.Failed() && len(record.lines) > 0 {
				t.Logf("%s printed:\n%s", file, strings.Join(record.lines, "\n"))
			}
		}
	}
}
