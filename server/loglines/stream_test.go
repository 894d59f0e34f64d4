package loglines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// reader runs a stream on a fake node, in a bubble of fake time.
type reader struct {
	t       *testing.T
	node    *fakeNode
	options Options
	changes chan Change
	ended   chan error
	end     context.CancelFunc

	mu        sync.Mutex // guards the fields below
	printed   []string   // what was sent since the last check
	positions map[LogName]Position
	blocked   chan struct{} // nil while the client reads
}

func start(t *testing.T, node *fakeNode, options Options) *reader {
	t.Helper()
	if options.MaxLogs == 0 {
		options.MaxLogs = 50
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{
		t: t, node: node, options: options, changes: make(chan Change), ended: make(chan error, 1), end: cancel,
		positions: map[LogName]Position{},
	}
	go func() { r.ended <- Run(ctx, options, r.changes, node.open, r.send) }()
	return r
}

func (r *reader) send(ctx context.Context, batch Batch) error {
	r.mu.Lock()
	blocked := r.blocked
	r.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range batch.Events {
		r.printed = append(r.printed, describe(event))
	}
	for _, line := range batch.Lines {
		r.printed = append(r.printed, fmt.Sprintf("%s: %s", line.LogName, line.Text))
		r.positions[line.LogName] = line.Position
	}
	for _, position := range batch.Positions {
		r.positions[position.LogName] = position.Position
	}
	return nil
}

func describe(event Event) string {
	names := map[EventType]string{Began: "began", Ended: "ended", WaitingForLog: "waits", Failed: "failed", LinesLost: "lost lines", LimitReached: "limit"}
	text := fmt.Sprintf("%s %s", event.LogName, names[event.Type])
	if event.Run > 0 {
		text += fmt.Sprintf(" run %d", event.Run)
	}
	if event.Reason != "" {
		text += " " + event.Reason
	}
	if event.ExitCode != nil {
		text += fmt.Sprintf(" %d", *event.ExitCode)
	}
	return strings.TrimPrefix(text, "/ ")
}

// report reports the pods of some logs as the node has them.
func (r *reader) report(names ...LogName) {
	for _, name := range names {
		r.changes <- Change{Pod: Pod{name.Namespace, name.Pod, "uid-" + name.Pod, []Container{r.node.state(name)}}}
	}
}

func (r *reader) sync(names ...LogName) {
	r.report(names...)
	r.changes <- Change{Synced: true}
}

func (r *reader) lose(name LogName, reason string) {
	r.changes <- Change{Pod: Pod{Namespace: name.Namespace, Name: name.Pod, UID: "uid-" + name.Pod}, Gone: reason}
}

// settle waits until everything that was written has been sent.
func (r *reader) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// want fails the test unless exactly these lines and events have been sent since the last call.
func (r *reader) want(lines ...string) {
	r.t.Helper()
	r.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	sortBegins(r.printed)
	if got, want := strings.Join(r.printed, "\n"), strings.Join(lines, "\n"); got != want {
		r.t.Errorf("sent:\n%s\nwant:\n%s", got, want)
	}
	r.printed = nil
}

// sortBegins sorts events of logs that are opened at the same time.
func sortBegins(printed []string) {
	for begin := 0; begin < len(printed); begin++ {
		end := begin
		for end < len(printed) && strings.HasSuffix(printed[end], " began") {
			end++
		}
		slices.Sort(printed[begin:end])
	}
}

// wantEnd fails the test unless the stream ends without an error and has closed all logs.
func (r *reader) wantEnd() {
	r.t.Helper()
	if err := <-r.ended; err != nil {
		r.t.Errorf("the stream ends with %v", err)
	}
	if count := r.node.openCount(); count > 0 {
		r.t.Errorf("%d logs are open", count)
	}
}

// stop ends a followed stream.
func (r *reader) stop() {
	r.t.Helper()
	r.end()
	if err := <-r.ended; !errors.Is(err, context.Canceled) {
		r.t.Errorf("the stream ends with %v", err)
	}
	if count := r.node.openCount(); count > 0 {
		r.t.Errorf("%d logs are open", count)
	}
}

func logOf(pod string) LogName { return LogName{"default", pod, "main"} }

var a, b, c = logOf("a"), logOf("b"), logOf("c")

func TestRun_SortsExistingLinesByTime(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		for i, name := range []LogName{a, b, a, a, b} {
			node.write(name, fmt.Sprintf("%d\n", i))
			time.Sleep(time.Millisecond)
		}
		node.end(a)
		r := start(t, node, Options{})
		r.sync(a, b)
		r.want("a/main began", "b/main began", "a/main: 0", "b/main: 1", "a/main: 2", "a/main: 3", "a/main ended Error 0", "b/main: 4", "b/main ended Read")
		r.wantEnd()
	})
}

func TestRun_SendsAnIncompleteLastLine(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		node.write(a, "one\n")
		node.write(a, "password: ")
		r := start(t, node, Options{})
		r.sync(a)
		r.want("a/main began", "a/main: one", "a/main: password: ", "a/main ended Read")
		r.wantEnd()
	})
}

func TestRun_ReadsPreviousRuns(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		node.write(a, "before\n")
		node.restart(a)
		node.write(a, "now\n")
		node.write(b, "first\n")
		r := start(t, node, Options{Previous: true})
		r.sync(a, b)
		r.want("a/main began", "a/main: before", "a/main ended Error 0")
		r.wantEnd()
	})
}

func TestRun_BeginsWhereRequested(t *testing.T) {
	for name, test := range map[string]struct {
		options func(*Options, time.Time)
		want    string
	}{
		"everything":             {func(*Options, time.Time) {}, "0 1 2 3"},
		"the last two lines":     {func(o *Options, _ time.Time) { o.Tail = count(2) }, "2 3"},
		"more lines than exist":  {func(o *Options, _ time.Time) { o.Tail = count(9) }, "0 1 2 3"},
		"no lines":               {func(o *Options, _ time.Time) { o.Tail = count(0) }, ""},
		"a time within a second": {func(o *Options, begin time.Time) { o.Since = begin.Add(500 * time.Millisecond) }, "2 3"},
		"a time and a tail":      {func(o *Options, begin time.Time) { o.Since, o.Tail = begin.Add(500*time.Millisecond), count(1) }, "3"},
	} {
		for _, follow := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", follow ", follow), func(t *testing.T) {
				faketime.Test(t, func(t *testing.T) {
					node, options := newFakeNode(), Options{Follow: follow}
					test.options(&options, time.Now())
					for i := range 4 {
						node.write(a, fmt.Sprintf("%d\n", i))
						time.Sleep(250 * time.Millisecond)
					}
					r := start(t, node, options)
					r.sync(a)
					r.wantLines(a, test.want)
					if !follow {
						r.wantEnd()
						return
					}
					node.write(a, "new\n")
					r.wantLines(a, "new")
					r.stop()
				})
			})
		}
	}
}

func count(n int64) *int64 { return &n }

// lines returns the texts of the lines of a log that were sent since the last check.
func (r *reader) lines(name LogName) string {
	r.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, printed := range r.printed {
		if text, ok := strings.CutPrefix(printed, name.String()+": "); ok {
			texts = append(texts, text)
		}
	}
	r.printed = nil
	return strings.Join(texts, " ")
}

func (r *reader) wantLines(name LogName, want string) {
	r.t.Helper()
	if got := r.lines(name); got != want {
		r.t.Errorf("the lines of %s are %q, want %q", name, got, want)
	}
}

func TestRun_FollowsPodsThatComeAndGo(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		node.write(a, "1\n")
		r := start(t, node, Options{Follow: true, Tail: count(0)})
		r.sync(a)
		r.want("a/main began")
		node.write(b, "from its first line\n")
		r.report(b)
		r.want("b/main began", "b/main: from its first line")
		node.write(a, "2\n")
		r.want("a/main: 2")
		node.write(b, "no line end")
		node.end(b)
		r.want()
		r.lose(b, PodDeleted)
		r.want("b/main: no line end", "b/main ended PodDeleted")
		r.stop()
	})
}

// TestRun_ReadsTheLogOfADeletedPodToItsEnd deletes the pod before its container has ended.
func TestRun_ReadsTheLogOfADeletedPodToItsEnd(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		r := start(t, node, Options{Follow: true})
		r.sync(a, b)
		r.want("a/main began", "b/main began")
		r.lose(a, PodDeleted)
		r.lose(b, PodDeleted)
		node.write(a, "bye\n")
		node.end(a)
		r.want("a/main: bye", "a/main ended PodDeleted")
		time.Sleep(drainTime)
		r.want("b/main ended PodDeleted") // its node is lost
		r.stop()
	})
}

// TestRun_SendsTheLastLineOfAPodThatIsDeletedLater opens the log again before the deletion of the pod
// is known, which fails, because the API server knows it already.
func TestRun_SendsTheLastLineOfAPodThatIsDeletedLater(t *testing.T) {
	for _, failure := range []*OpenError{{Reason: "NotFound", IsFinal: true}, {Reason: "ServiceUnavailable"}} {
		faketime.Test(t, func(t *testing.T) {
			node := newFakeNode()
			node.write(a, "1\nno line end")
			r := start(t, node, Options{Follow: true})
			r.sync(a)
			r.want("a/main began", "a/main: 1")
			node.end(a)
			r.want()
			node.refuse(a, failure)
			time.Sleep(minBackoff)
			r.want("a/main failed " + failure.Reason)
			r.lose(a, PodDeleted)
			r.want("a/main: no line end")
			r.stop()
		})
	}
}

// TestRun_RecordsChangesWhileExistingLinesAreRead changes pods while a log is being opened.
func TestRun_RecordsChangesWhileExistingLinesAreRead(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		node.write(a, "1\n")
		node.write(b, "1\n")
		node.opening = make(chan struct{})
		r := start(t, node, Options{Follow: true, Tail: count(1)})
		r.sync(a, b)
		node.end(a)
		node.write(c, "1\n")
		time.Sleep(time.Millisecond)
		node.write(c, "2\n")
		r.report(c)
		r.lose(a, PodDeleted)
		r.want()
		close(node.opening)
		r.wantLines(c, "1 2")
		r.stop()
	})
}

func TestRun_EndsAndResumesPodsThatLeaveTheSelection(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		node.write(a, "1\n")
		r := start(t, node, Options{Follow: true})
		r.sync(a)
		r.want("a/main began", "a/main: 1")
		r.lose(a, PodNotSelected)
		node.write(a, "2\n")
		r.want("a/main ended PodNotSelected")
		r.report(a)
		r.want("a/main began", "a/main: 2")
		r.stop()
	})
}

func TestRun_ContinuesWithTheNextRun(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		r := start(t, node, Options{Follow: true})
		r.sync(a)
		node.write(a, "run 0\n")
		r.want("a/main began", "a/main: run 0")
		node.end(a)
		r.want()
		r.report(a)
		r.want("a/main ended Error 0")
		node.restart(a)
		node.write(a, "run 1\n")
		r.want()
		r.report(a)
		r.want("a/main began run 1", "a/main: run 1")
		r.stop()
	})
}

// TestRun_ReadsTheRunThatItMissed restarts a container more often than it reports.
func TestRun_ReadsTheRunThatItMissed(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		r := start(t, node, Options{Follow: true})
		r.sync(a)
		r.want("a/main began")
		for run := range 3 {
			node.write(a, fmt.Sprintf("run %d\n", run))
			node.cut(a, errors.New("the link is down"))
			node.refuse(a, errors.New("the link is down"))
			node.restart(a)
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		node.refuse(a, nil)
		node.write(a, "run 3\n")
		r.report(a)
		r.want("a/main failed ServiceUnavailable", "a/main lost lines", "a/main began run 2", "a/main: run 2", "a/main ended run 2 Error 2", "a/main began run 3", "a/main: run 3")
		r.stop()
	})
}

func TestRun_WaitsForLogs(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		r := start(t, node, Options{Follow: true, Tail: count(0)})
		pod := Pod{"default", "a", "uid-a", []Container{{Name: "main", Waiting: &Waiting{Reason: "ContainerCreating"}}}}
		r.changes <- Change{Pod: pod}
		r.changes <- Change{Synced: true}
		r.want("a/main waits ContainerCreating")
		node.write(a, "1\n")
		node.refuse(a, &OpenError{Reason: "BadRequest", IsWaiting: true})
		r.report(a)
		r.want("a/main waits BadRequest")
		node.refuse(a, nil)
		time.Sleep(maxBackoff)
		r.want("a/main began", "a/main: 1")
		r.stop()
	})
}

func TestRun_ReportsLogsThatCannotBeRead(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		node := newFakeNode()
		node.refuse(a, &OpenError{Reason: "Forbidden", IsFinal: true})
		node.write(b, "1\n")
		r := start(t, node, Options{Follow: true})
		r.sync(a)
		r.want("a/main failed Forbidden")
		r.report(b)
		r.want("b/main began", "b/main: 1")
		time.Sleep(time.Hour)
		if opened := len(node.opened); opened != 2 {
			t.Errorf("logs were opened %d times: the forbidden one must be opened once", opened)
		}
		r.stop()
	})
}

func TestRun_SendsEmptyBatchesWhileItIsQuiet(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		batches, changes := 0, make(chan Change)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = Run(ctx, Options{Follow: true, MaxLogs: 1}, changes, newFakeNode().open, func(context.Context, Batch) error {
			batches++
			return nil
		})
		if want := int(time.Minute/quiet) - 1; batches < want {
			t.Errorf("%d batches in a minute, want at least %d", batches, want)
		}
	})
}
