package wire_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// family is a file of testdata.
type family struct {
	name, about string
	exchanges   []exchange
}

// TestWire_IsAsRecorded compares each exchange with its record. With UPDATE=1 it writes the records.
func TestWire_IsAsRecorded(t *testing.T) {
	w := newWorld(t)
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) { w.record(t, f) })
	}
}

func families() []family {
	return []family{reads, lists, streams, logs, writes, discovery, health, reflection, requests, encodings, timeouts, callers, conditional, pages, limits, shutdown}
}

// record records the exchanges of a family, and compares them with its file.
func (w *world) record(t *testing.T, f family) {
	n := newNames()
	for placeholder, value := range w.values {
		n.set(placeholder, value)
	}
	got := []string{"# " + f.about + "\n"}
	for _, e := range f.exchanges {
		got = append(got, w.exchange(kit.Deadline(t), t, e, n))
	}
	if t.Failed() {
		return
	}
	file := filepath.Join("testdata", f.name+".txt")
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(strings.Join(got, "\n"), "\n")); diff != "" {
		t.Errorf("%s has another record (with UPDATE=1 this test writes it):\n%s", file, diff)
	}
}

// exchange sends a request, and returns it with its response as text.
func (w *world) exchange(ctx context.Context, t *testing.T, e exchange, n *names) string {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.http == "" {
		e.http = http1
	}
	response, err := w.clients[e.http].Do(e.request(ctx, t, w.services[e.to].Address, n))
	if err != nil {
		return "=== " + e.name + "\n\n" + e.shown() + "\n< " + n.hide("(no response: "+err.Error()+")") + "\n"
	}
	defer func() { _ = response.Body.Close() }()
	var meanwhile strings.Builder
	received := func() {
		if e.do != nil {
			e.do(w)
		}
		for _, other := range e.meanwhile {
			meanwhile.WriteString("\n" + w.exchange(ctx, t, other, n))
		}
	}
	recorded := n.hide(record(e, n, response, received, cancel))
	return "=== " + e.name + "\n\n" + e.shown() + "\n" + quoted("< ", recorded) + meanwhile.String()
}
