package informerhub

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestBeginnings_AreCountedByHowWatchesContinue(t *testing.T) {
	c := podCache(1) // an empty window
	must(t, c.Replace(items(pod(t, "a", 3)), "10"))
	must(t, c.Update(pod(t, "a", 11)))
	wide := syncedPods(t, 10, pod(t, "a", 3))
	must(t, wide.Update(pod(t, "a", 11)))
	must(t, wide.Update(pod(t, "a", 12)))
	restored := syncedPods(t, 10, pod(t, "a", 3))
	undone := restored.feed.position(time.Now())
	must(t, restored.Replace(items(pod(t, "a", 2)), "5")) // from a backup
	must(t, restored.Update(pod(t, "a", 11)))
	for _, test := range []struct {
		name  string
		cache *Cache
		since *Position
		want  Beginnings
	}{
		{"without a position", c, nil, Beginnings{Snapshots: 1}},
		{"within the window", wide, &Position{Version: "11"}, Beginnings{Resumed: 1}},
		{"before the window", c, &Position{Version: "10"}, Beginnings{LatestStates: 1}},
		{"in an undone history", restored, &undone, Beginnings{Resets: 1}},
	} {
		before := test.cache.beginnings.numbers()
		w := test.cache.Watch(selectFrom(t, test.cache, Query{}), WatchOptions{Bookmarks: time.Hour, Since: test.since, Patience: time.Second})
		nextLines(t, w)
		w.Close()
		after := test.cache.beginnings.numbers()
		got := Beginnings{
			after.Snapshots - before.Snapshots, after.Resumed - before.Resumed,
			after.LatestStates - before.LatestStates, after.Resets - before.Resets,
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestBeginnings_OpenWatchesThatCannotContinueAreResets(t *testing.T) {
	c := syncedPods(t, 10, pod(t, "a", 3))
	w := c.Watch(selectFrom(t, c, Query{}), WatchOptions{Bookmarks: time.Hour})
	defer w.Close()
	nextLines(t, w)
	must(t, c.Replace(items(pod(t, "a", 2)), "5")) // from a backup
	nextLines(t, w)
	if got, want := c.beginnings.numbers(), (Beginnings{Snapshots: 1, Resets: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// logText is what is logged during a test, at the level info.
type logText struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func captureLog(t *testing.T) *logText {
	t.Helper()
	logged, before := &logText{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return logged
}

// Write implements io.Writer.
func (l *logText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// take returns the lines since the last call.
func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

func TestCache_LogsItsSnapshots(t *testing.T) {
	logged := captureLog(t)
	c := podCache(1)
	for _, snapshot := range []struct {
		items   []any
		version string
		want    string
	}{
		{items(pod(t, "a", 3)), "10", `level=INFO msg="cache filled" resource=pods.v1 objects=1 seconds=`},
		{items(pod(t, "a", 11), pod(t, "b", 12)), "20", `level=INFO msg="cache relisted" resource=pods.v1 objects=2 changes=2`},
		{items(pod(t, "a", 2)), "5", `level=WARN msg="cache begins a new history: all its watchers get a RESET" resource=pods.v1 objects=1`},
	} {
		must(t, c.Replace(snapshot.items, snapshot.version))
		if line := logged.take(); !strings.Contains(line, snapshot.want) || strings.Count(line, "\n") != 1 {
			t.Errorf("the snapshot at %s: %q, want %s", snapshot.version, line, snapshot.want)
		}
	}
	private := podCache(1)
	private.isPrivate = true
	must(t, private.Replace(items(pod(t, "a", 3)), "10"))
	if line := logged.take(); line != "" {
		t.Errorf("a private cache: %s", line)
	}
}

func TestCache_LogsAListThatTakesLong(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged := captureLog(t)
		c := podCache(1)
		const line = `level=WARN msg="the list of the API server takes long, or fails" resource=pods.v1 seconds=`
		want := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := logged.take(); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Count(got, "\n") > 1 {
				t.Errorf("the log has %q, want %q", got, want)
			}
		}
		c.listStarted("")
		want(29*time.Second, "")
		want(2*time.Second, line+"30")
		c.recordFailure(errors.New("the storage is (re)initializing"))
		c.listStarted("")
		want(30*time.Second, line+`60 error="the storage is (re)initializing"`)
		must(t, c.Replace(items(pod(t, "a", 3)), "10"))
		logged.take()
		want(10*time.Minute, "")
		c.listStarted("10") // a relist
		c.end(errors.New("unused"))
		want(10*time.Minute, "")
	})
}
