package gate

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

func TestAdjuster_LimitsApplyToWhatBeginsLater(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers, adjuster := NewCallers(Limits{Rate: 100, Burst: 100}), &Adjuster{}
		adjuster.Attach(callers, observe.NewCallLog(0))
		for range 3 {
			if err := callers.open("jane"); err != nil {
				t.Fatal(err)
			}
		}
		hold := func() error {
			_, err := callers.HoldStreams("jane", "a pod", 2)
			return err
		}
		call := func() error { return callers.call("jane") }
		if hold() != nil {
			t.Error("there is no limit for a credential")
		}

		adjuster.Adjust(Limits{Streams: 2, CredentialStreams: 3, Rate: 1, Burst: 4, Calls: 1}, 0)
		if callers.open("jane") == nil || hold() == nil {
			t.Error("the lowered limits of streams do not apply")
		}
		if refused := refusals(10, call); refused != 6 {
			t.Errorf("%d of 10 calls are rejected, want 6", refused)
		}
		if _, ok := callers.calls.TryAcquire("jane", 1); !ok {
			t.Error("a call is rejected")
		}
		if _, ok := callers.calls.TryAcquire("jane", 1); ok {
			t.Error("the lowered limit of concurrent calls does not apply")
		}

		adjuster.Adjust(Limits{}, 0)
		if callers.open("jane") != nil || hold() != nil || refusals(1000, call) > 0 {
			t.Error("the lifted limits still apply")
		}
		if callers.streaming["jane"].streams != 4 {
			t.Errorf("%d streams are open, want 4", callers.streaming["jane"].streams)
		}
	})
}

func TestAdjuster_ChangesTheSampleOfLoggedCalls(t *testing.T) {
	var lines bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	l, adjuster := observe.NewCallLog(0), &Adjuster{}
	adjuster.Attach(NewCallers(Limits{}), l)
	logCall := func(id string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header.Set(call.RequestIDHeader, id)
		c := call.New(httptest.NewRecorder(), r, "", func() {})
		c.Record.Begin("/a.Service/List", call.Counters{})
		l.Log(c)
	}
	logCall("first")
	adjuster.Adjust(Limits{}, 1)
	logCall("second")
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "request_id=second") {
		t.Errorf("%q is logged, want the second call", got)
	}
}

func TestAdjuster_WithoutAServiceDoesNothing(t *testing.T) {
	var none *Adjuster
	none.Attach(NewCallers(Limits{}), observe.NewCallLog(0))
	new(Adjuster).Adjust(Limits{}, 1)
}
