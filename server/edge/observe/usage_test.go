package observe

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

// usedCall returns a call that has been admitted.
func usedCall(t *testing.T, usage *Usage, caller string, isStream bool) *call.Call {
	t.Helper()
	c := endedCall(t, caller, listProcedure, nil)
	c.Record.Began = time.Now()
	usage.Begin(c, isStream)
	return c
}

func TestUsage_SumsUpByCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := NewUsage()
		jane, stream := usedCall(t, usage, "jane", false), usedCall(t, usage, "joe", true)
		jane.Record.Use(call.Traffic{Bytes: 100, Objects: 3})
		stream.Record.Use(call.Traffic{Bytes: 700})
		jane.Record.UsedProcessor(500 * time.Millisecond)
		time.Sleep(2 * time.Second)
		callers := usage.Callers()
		if len(callers) != 2 || callers[0].Caller != "joe" || callers[0].OpenStreams != 1 || callers[1].OpenCalls != 1 {
			t.Errorf("while they are open: %+v", callers)
		}
		usage.End(jane)
		failed := usedCall(t, usage, "jane", false)
		failed.Record.Err = connect.NewError(connect.CodeResourceExhausted, "")
		usage.End(failed)
		if got, want := usage.Callers()[1].Total, (call.Traffic{Calls: 2, Failed: 1, Limited: 1, Objects: 3, Bytes: 100, Seconds: 2, ProcessorSeconds: 0.5}); got != want {
			t.Errorf("in all %+v, want %+v", got, want)
		}
		if open := usage.Open(); len(open) != 1 || open[0].Caller != "joe" || !open[0].IsStream {
			t.Errorf("open are %+v", open)
		}
		time.Sleep(10 * loadPeriod)
		for _, caller := range usage.Callers() {
			if caller.PerMinute.Bytes > 1 || caller.Total.Bytes < 100 {
				t.Errorf("after a while: %+v", caller)
			}
		}
	})
}

func TestUsage_HasWhatIsKeptForCallers(t *testing.T) {
	usage, kept := NewUsage(), ledger.New(ledger.Limits{Total: 1000})
	usage.CountKept(kept)
	usedCall(t, usage, "jane", true)
	usedCall(t, usage, "", true)
	for _, identity := range []auth.Identity{{Username: "jane", UID: "1"}, {Username: "jane", UID: "2"}, {}} {
		if _, err := kept.Account(call.CallerKey(identity), call.CredentialKey(identity)).Charge(100); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for _, caller := range usage.Callers() {
		got[caller.Caller] = caller.KeptBytes
	}
	if want := map[string]int{"jane": 200, call.Everyone: 100}; !maps.Equal(got, want) {
		t.Errorf("%v is kept, want %v", got, want)
	}
}

// blockedWriter is the response of a client that does not read before it may.
type blockedWriter struct {
	http.ResponseWriter
	mayRead chan struct{}
}

func (w blockedWriter) Write(p []byte) (int, error) {
	<-w.mayRead
	return len(p), nil
}

func TestUsage_ShowsClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := NewUsage()
		c := usedCall(t, usage, "jane", true)
		NewMetrics().Begin(c, listProcedure)
		client := blockedWriter{httptest.NewRecorder(), make(chan struct{})}
		go func() { _, _ = c.Writer(client).Write([]byte("message")) }()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		if calls, seconds := usage.unread(), usage.Open()[0].UnreadSeconds; calls != 1 || seconds != 3 {
			t.Errorf("%d clients do not read, one for %v s, want 1 and 3 s", calls, seconds)
		}
		close(client.mayRead)
		synctest.Wait()
		if calls, seconds := usage.unread(), usage.Open()[0].UnreadSeconds; calls != 0 || seconds != 0 {
			t.Errorf("after it has read: %d clients, one for %v s", calls, seconds)
		}
	})
}

// TestUsage_PerMinuteIsTheRate has a caller that receives as much every second.
func TestUsage_PerMinuteIsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		usage := NewUsage()
		c := usedCall(t, usage, "jane", true)
		for range 600 {
			c.Record.Use(call.Traffic{Bytes: 10})
			time.Sleep(time.Second)
		}
		if rate := usage.Callers()[0].PerMinute.Bytes; rate < 580 || rate > 610 {
			t.Errorf("%v bytes a minute, want about 600", rate)
		}
	})
}

// TestUsage_ForgetsEndedCalls ends calls of callers that are not authenticated.
func TestUsage_ForgetsEndedCalls(t *testing.T) {
	usage := NewUsage()
	for _, caller := range []string{"jane", ""} {
		usage.End(usedCall(t, usage, caller, false))
	}
	usage.End(endedCall(t, "", listProcedure, nil)) // a health check
	if open := usage.Open(); len(open) > 0 {
		t.Errorf("open are %+v", open)
	}
	if callers := usage.Callers(); len(callers) != 2 || callers[0].Caller != call.Everyone || callers[1].Caller != "jane" {
		t.Errorf("the callers are %+v", callers)
	}
}

func TestUsage_KeepsRejectedNetworksApart(t *testing.T) {
	usage := NewUsage()
	usage.End(usedCall(t, usage, "jane", false))
	for i := range 2 * maxUsageCallers {
		c := endedCall(t, "", listProcedure, auth.ErrUnauthenticated)
		c.Network, c.Record.IsRefused = fmt.Sprintf("10.0.%d.%d/32", i/256, i%256), true
		usage.End(c)
	}
	callers := usage.Callers()
	if len(callers) != maxUsageCallers+1 {
		t.Errorf("%d callers and networks", len(callers))
	}
	known := 0
	for _, caller := range callers {
		if caller.Caller == "jane" && caller.Network == "" && caller.Total.Calls == 1 {
			known++
		}
	}
	if known != 1 {
		t.Errorf("jane is there %d times", known)
	}
}
