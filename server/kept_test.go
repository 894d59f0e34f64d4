package server

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// texts returns a number of texts of a length that differ in each stream.
func texts(stream, count, length int) []string {
	all := make([]string, count)
	for i := range all {
		text := fmt.Sprintf("v%d-%d", stream, i)
		all[i] = text + strings.Repeat("x", max(0, length-len(text)))
	}
	return all
}

// paths returns a number of paths that differ in each stream.
func paths(stream, count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("spec.a%d.b%d", stream, i)
	}
	return all
}

func inSet(stream, count, length int) string {
	return "key in (" + strings.Join(texts(stream, count, length), ",") + ")"
}

func joinsOf(stream, count int, of func(join *kubeconnectv1.Join)) (joins []*kubeconnectv1.Join) {
	for i := range count {
		join := &kubeconnectv1.Join{Name: fmt.Sprint("j", i), Type: namedBy, Resource: "nodes", Path: fmt.Sprintf("spec.p%d", stream)}
		of(join)
		joins = append(joins, join)
	}
	return joins
}

// keptStreams are streams that keep as much as their fields allow.
var keptStreams = map[string]func(t *testing.T, s *service, stream int) error{
	"watch": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods"})
	},
	"label_selector with many values": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", LabelSelector: inSet(i, 990, 0)})
	},
	"label_selector with long values": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", LabelSelector: inSet(i, 990, 63)})
	},
	"label_selector with requirements": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", LabelSelector: strings.Join(texts(i, 99, 0), ",")})
	},
	"field_selector": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", FieldSelector: "metadata.name!=" + strings.Join(texts(i, 99, 0), ",metadata.name!=")})
	},
	"fields": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", Fields: paths(i, 128)})
	},
	"order_by": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", Limit: 10, OrderBy: strings.Join(paths(i, 8), ",")})
	},
	"joins": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", Limit: 1, Joins: joinsOf(i, 8, func(join *kubeconnectv1.Join) { join.Fields = paths(i, 100) })})
	},
	"joins with short paths": func(t *testing.T, s *service, i int) error {
		return keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods", Limit: 1, Joins: joinsOf(i, 8, func(join *kubeconnectv1.Join) {
			join.Fields = texts(i, 128, 0)
		})})
	},
	"many watches": func(t *testing.T, s *service, i int) error {
		request := &kubeconnectv1.WatchManyRequest{}
		for range 20 {
			request.Watches = append(request.Watches, &kubeconnectv1.WatchSpec{Resource: "pods", Namespace: fmt.Sprint("a", i)})
		}
		stream, err := responses.Of(s.resources.WatchMany(t.Context(), request))
		return keep(t, stream, err)
	},
	"counts": func(t *testing.T, s *service, i int) error {
		stream, err := responses.Of(s.resources.WatchCounts(t.Context(), &kubeconnectv1.WatchCountsRequest{Resource: "pods", GroupBy: paths(i, 8)}))
		return keep(t, stream, err)
	},
	"resume_after": func(t *testing.T, s *service, i int) error {
		request := &kubeconnectv1.GetLogLinesRequest{LabelSelector: "no=pod", Follow: true}
		for j := range 3300 {
			request.ResumeAfter = append(request.ResumeAfter, &kubeconnectv1.LogPosition{
				Namespace: "default", Pod: fmt.Sprintf("pod-%d-%d", i, j), Container: "c", Time: timestamppb.New(time.Unix(1e9+int64(j), 1))})
		}
		stream, err := responses.Of(s.pods.GetLogLines(t.Context(), request))
		return keep(t, stream, err)
	},
	"regular expressions": func(t *testing.T, s *service, i int) error {
		pattern := strings.Repeat(`\pL`, 16)
		stream, err := responses.Of(s.pods.GetLogLines(t.Context(), &kubeconnectv1.GetLogLinesRequest{
			LabelSelector: "no=pod", Follow: true, Container: pattern, ExcludeContainer: pattern, LineFilter: &kubeconnectv1.LogLineFilter{Regex: pattern},
		}))
		return keep(t, stream, err)
	},
	"log": func(t *testing.T, s *service, i int) error {
		stream, err := responses.Of(s.pods.GetLogs(t.Context(), &kubeconnectv1.GetLogsRequest{Namespace: "default", Name: "a", Follow: true}))
		return keep(t, stream, err)
	},
}

// keep keeps a stream open until the end of the test. It returns the stream's error, or nil when it has received
// the first response.
func keep[R any](t *testing.T, stream *responses.Stream[R], err error) error {
	t.Helper()
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = stream.Close() })
	if stream.Receive() {
		return nil
	}
	return stream.Err()
}

// keepWatch opens a watch, and receives its snapshot.
func keepWatch(t *testing.T, s *service, request *kubeconnectv1.WatchRequest) error {
	t.Helper()
	stream, err := responses.Of(s.resources.Watch(t.Context(), request))
	if err := keep(t, stream, err); err != nil {
		return err
	}
	for {
		for _, event := range stream.Msg().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED {
				return nil
			}
		}
		if !stream.Receive() {
			return stream.Err()
		}
	}
}

// keptService returns a service with pods and a log, its caller, and what is charged to that one. total is the
// memory that all callers can keep.
func keptService(t *testing.T, total int) (s *service, rights *servertest.FakeRights, charged func() int) {
	api := joinedAPI()
	api.Log = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "a line\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	usage, rights := observe.NewUsage(), servertest.NewFakeRights(auth.Namespaces{All: true})
	s = newServiceOf(t, api, Config{
		Edge:       edge.Config{Authenticator: rights, Usage: usage, Limits: gate.Limits{Streams: 10_000}, KeptBytes: total},
		Authorizer: rights, Recheck: time.Hour,
	})
	return s, rights, func() int { return usage.Callers()[0].KeptBytes }
}

// usedMemory returns the memory of the heap and of stacks.
func usedMemory() int {
	runtime.GC()
	runtime.GC() // what has finalizers is freed by the second one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc + stats.StackInuse)
}

// keptFor returns the memory of a stream with its client, and what is charged for it.
func keptFor(t *testing.T, open func(t *testing.T, s *service, stream int) error) (kept, charged int) {
	s, _, chargedNow := keptService(t, 0)
	const streams = 50
	mustOpen := func(stream int) {
		if err := open(t, s, stream); err != nil {
			t.Fatal(err)
		}
	}
	mustOpen(-1) // starts the caches
	before, chargedBefore := usedMemory(), chargedNow()
	for i := range streams {
		mustOpen(i)
	}
	return (usedMemory() - before) / streams, (chargedNow() - chargedBefore) / streams
}

// TestKept_StreamsAreChargedForWhatTheyKeep compares the memory of streams, and what is charged for them, with
// those of plain watches. It does not run in parallel, because other tests use memory too.
func TestKept_StreamsAreChargedForWhatTheyKeep(t *testing.T) {
	var plain, chargedPlain int
	for range 2 { // the first time loads what the process needs
		t.Run("plain", func(t *testing.T) { plain, chargedPlain = keptFor(t, keptStreams["watch"]) })
	}
	for name, open := range keptStreams {
		t.Run(name, func(t *testing.T) {
			var more, charged int
			for range keptAttempts {
				kept, all := keptFor(t, open)
				more, charged = kept-plain, all-chargedPlain
				if float64(charged) >= 0.8*float64(more)-keptNoise {
					t.Logf("%d bytes more than a plain watch, which has %d; %d are charged", more, plain, charged)
					return
				}
			}
			t.Errorf("%d bytes are kept, and %d are charged", more, charged)
		})
	}
}

// keptAttempts is the number of measurements, because what has been sent, and is still in buffers, can be measured too.
const keptAttempts = 3

// keptNoise is the memory that a stream may take more or less from one run to the next.
const keptNoise = 24 << 10

// TestKept_OneCallerLeavesStreamsForOthers opens the streams of each kind until they are refused.
func TestKept_OneCallerLeavesStreamsForOthers(t *testing.T) {
	for name, open := range keptStreams {
		t.Run(name, func(t *testing.T) {
			s, rights, charged := keptService(t, 16<<20)
			refused := openAll(t, s, open)
			statustest.WantOverLimit(t, refused, "too much memory is kept")
			if charged() > 16<<20/5 {
				t.Errorf("%d bytes are kept for one credential", charged())
			}
			rights.Become(auth.Identity{Username: "jane", Extra: map[string][]string{user.CredentialIDKey: {"another"}}})
			if err := keepWatch(t, s, &kubeconnectv1.WatchRequest{Resource: "pods"}); err != nil {
				t.Errorf("another credential of the caller: %v", err)
			}
			rights.Become(auth.Identity{Username: "joe"})
			if err := open(t, s, -1); err != nil {
				t.Errorf("another caller: %v", err)
			}
		})
	}
}

// openAll opens streams until one is refused, and returns why.
func openAll(t *testing.T, s *service, open func(t *testing.T, s *service, stream int) error) error {
	for i := range 1000 {
		if err := open(t, s, i); err != nil {
			return err
		}
	}
	return nil
}
