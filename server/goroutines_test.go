package server

import (
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2/connecthttp"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

const (
	// startsHandler is the function that starts a goroutine for each stream of a connection: the
	// HTTP server, to call the handler in it.
	startsHandler = "net/http.(*http2serverConn).scheduleHandler"
	// startsRequest does the same for the client, which also runs in this process.
	startsRequest = "net/http.(*http2ClientConn).roundTrip"
)

// A watcher is a cursor into the feed: an idle stream needs the goroutine that its handler runs in,
// and no other for sending, waiting or tracking.
func TestStream_IdleNeedsOnlyItsHandlersGoroutine(t *testing.T) {
	const streams = 20
	for name, options := range map[string][]connecthttp.Option{"Connect": nil, "gRPC": {connecthttp.WithGRPC()}, "gRPC-Web": {connecthttp.WithGRPCWeb()}} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{}, options...)
			openQuiet(t, s, streams) // these start the shared goroutines
			before := goroutines()
			openQuiet(t, s, streams)
			wantStarted(t, before, map[string]int{startsHandler: streams, startsRequest: streams})
		})
	}
}

// The counts of a question are kept true by one goroutine for all streams.
func TestWatchCounts_IdleNeedsOnlyItsHandlersGoroutine(t *testing.T) {
	const streams = 20
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	open := func() {
		for range streams {
			watchCounts(t, s, countsOf("spec.nodeName")).until("2 node-1:2")
		}
	}
	open() // these start the shared goroutines
	before := goroutines()
	open()
	wantStarted(t, before, map[string]int{startsHandler: streams, startsRequest: streams})
}

// openQuiet opens watches, reads their snapshot, and keeps them open.
func openQuiet(t *testing.T, s *service, count int) {
	t.Helper()
	for range count {
		stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", Encoding: asJSON}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stream.Close() })
		receive(t, stream)
	}
}

// goroutines returns the number of goroutines by the function that started them.
func goroutines() map[string]string {
	stacks := make([]byte, 16<<20)
	all := make(map[string]string)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		number, _, _ := strings.Cut(stack, " [")
		_, creator, _ := strings.Cut(stack, "created by ")
		creator, _, _ = strings.Cut(creator, " in goroutine ")
		all[number] = creator
	}
	return all
}

// wantStarted waits until exactly these goroutines have been added, by the function that started
// them. The HTTP server has helpers that end by themselves.
func wantStarted(t *testing.T, before map[string]string, want map[string]int) {
	t.Helper()
	started := map[string]int{}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); runtime.Gosched() {
		clear(started)
		for number, creator := range goroutines() {
			if _, ok := before[number]; !ok {
				started[creator]++
			}
		}
		if maps.Equal(started, want) {
			return
		}
	}
	t.Errorf("there are more goroutines, by who has started them:\n%v\nwant\n%v", started, want)
}
