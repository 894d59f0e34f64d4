package loglines

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// TestRun_LosesAndRepeatsNoLine follows containers that write, restart and lose their connections
// at random, for clients that resume their streams at random. Each line must be sent once, in order.
func TestRun_LosesAndRepeatsNoLine(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) { follow(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

// world is a node with some containers, and what each container has written.
type world struct {
	t       *testing.T
	random  *rand.Rand
	node    *fakeNode
	names   []LogName
	written map[LogName][]string
	read    map[LogName][]string
	reader  *reader
}

func follow(t *testing.T, random *rand.Rand) {
	w := &world{t: t, random: random, node: newFakeNode(), names: []LogName{a, b, c}, written: map[LogName][]string{}, read: map[LogName][]string{}}
	for _, name := range w.names {
		w.writeTo(name)
	}
	w.begin(nil)
	for range 150 {
		w.step()
	}
	for _, name := range w.names {
		w.node.write(name, "\n") // ends an incomplete line
		w.reader.report(name)
	}
	time.Sleep(time.Minute)
	w.collect()
	w.reader.stop()
	for _, name := range w.names {
		w.check(name)
	}
}

func (w *world) begin(resume map[LogName]Position) {
	w.reader = start(w.t, w.node, Options{Follow: true, Resume: resume})
	w.reader.sync(w.names...)
	synctest.Wait()
}

// collect takes what the client has read.
func (w *world) collect() {
	synctest.Wait()
	w.reader.mu.Lock()
	defer w.reader.mu.Unlock()
	for _, printed := range w.reader.printed {
		for _, name := range w.names {
			if text, ok := strings.CutPrefix(printed, name.String()+": "); ok {
				w.read[name] = append(w.read[name], text)
			}
		}
	}
	w.reader.printed = nil
}

func (w *world) any() LogName { return w.names[w.random.IntN(len(w.names))] }

func (w *world) step() {
	switch name := w.any(); w.random.IntN(14) {
	case 0:
		w.node.cut(name, errors.New("the link is down"))
	case 1:
		w.node.cut(name, nil)
	case 2:
		w.restart(name)
	case 3:
		w.reader.report(name)
	case 4:
		w.resume()
	default:
		w.write()
	}
	switch w.random.IntN(4) {
	case 0:
		time.Sleep(time.Duration(w.random.IntN(2000)) * time.Millisecond)
	case 1:
		time.Sleep(time.Duration(w.random.IntN(2000)) * time.Microsecond)
	}
}

// write writes one or more lines at the same time, the last one in two parts.
func (w *world) write() { w.writeTo(w.any()) }

func (w *world) writeTo(name LogName) {
	for range 1 + w.random.IntN(3) {
		text := fmt.Sprint(len(w.written[name]))
		w.written[name] = append(w.written[name], text)
		w.node.write(name, text+"\n")
	}
	if w.random.IntN(3) == 0 {
		text := fmt.Sprint(len(w.written[name]), " in two parts")
		w.written[name] = append(w.written[name], text)
		now := time.Now()
		w.node.writeAt(name, now, text[:2])
		time.Sleep(time.Duration(w.random.IntN(300)) * time.Millisecond)
		w.node.writeAt(name, now, text[2:]+"\n")
	}
	time.Sleep(time.Duration(w.random.IntN(3)) * time.Nanosecond)
}

// restart restarts a container, and waits until the service has read the previous run, of which a
// node keeps only one, and the first line of the new run.
func (w *world) restart(name LogName) {
	w.node.end(name)
	time.Sleep(time.Duration(w.random.IntN(2)) * time.Second)
	w.node.restart(name)
	time.Sleep(time.Second)
	w.reader.report(name)
	w.writeTo(name)
	time.Sleep(2 * maxBackoff)
}

// resume ends the stream, and begins another one after the last position of each container.
func (w *world) resume() {
	w.collect()
	w.reader.end()
	if err := <-w.reader.ended; err != nil && !errors.Is(err, context.Canceled) {
		w.t.Error(err)
	}
	w.collect()
	resume := w.reader.positions
	w.begin(resume)
	for name, position := range resume {
		if _, ok := w.reader.positions[name]; !ok {
			w.reader.positions[name] = position
		}
	}
}

func (w *world) check(name LogName) {
	read := slices.DeleteFunc(w.read[name], func(text string) bool { return text == "" })
	for i, text := range w.written[name] {
		if i >= len(read) || read[i] != text {
			w.t.Fatalf("%s has written %q, and was read as %q", name, w.written[name][i:], read[min(i, len(read)):])
		}
	}
	if len(read) != len(w.written[name]) {
		w.t.Errorf("%s was read as %d lines, want %d", name, len(read), len(w.written[name]))
	}
}

// TestRun_ResumesAfterOmittedLines resumes a filtered stream: what the filter has omitted is not
// read again.
func TestRun_ResumesAfterOmittedLines(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		filter, err := NewFilter(Condition{Contains: "x"}, free)
		if err != nil {
			t.Fatal(err)
		}
		node := newFakeNode()
		node.write(a, "x1\n")
		time.Sleep(time.Minute)
		node.write(a, "y\n")
		r := start(t, node, Options{Filter: filter})
		r.sync(a)
		r.want("a/main began", "a/main: x1", "a/main ended Read")
		node.write(a, "x2\n")
		resumed := start(t, node, Options{Filter: filter, Resume: r.positions})
		resumed.sync(a)
		resumed.want("a/main began", "a/main: x2", "a/main ended Read")
		if since := node.opened[1].Since; time.Since(since) > 10*time.Second {
			t.Errorf("the log was read again since %v", since)
		}
	})
}
