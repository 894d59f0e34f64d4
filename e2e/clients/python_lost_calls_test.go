package clients_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// outcomes are the calls of the program, how each ends if its response is lost, and how often the
// API server receives it.
var outcomes = map[string]struct {
	kind string
	sent int
}{
	"patch":   {"Unavailable", 1},
	"dry-run": {"", 2},
	"get":     {"", 2},
}

// TestPythonClient_SendsNoWriteTwice closes the connection when the API server has processed a
// request, before the response.
func TestPythonClient_SendsNoWriteTwice(t *testing.T) {
	t.Parallel()
	callsLosingTheResponse(t, (*halfOpenLink).cut)
}

// TestPythonClient_CallsOverDeadConnectionsEnd keeps the connection open instead. The calls have no
// timeout.
func TestPythonClient_CallsOverDeadConnectionsEnd(t *testing.T) {
	t.Parallel()
	callsLosingTheResponse(t, (*halfOpenLink).replace)
}

// halfOpenLink is a link whose first connections can be muted, while new ones work.
type halfOpenLink struct {
	outer, inner *harness.Proxy
	target       string
}

func callsLosingTheResponse(t *testing.T, lose func(*halfOpenLink)) {
	t.Helper()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for call, want := range outcomes {
		for _, way := range []string{"threads", "asyncio"} {
			t.Run(call+" by "+way, func(t *testing.T) {
				t.Parallel()
				ctx := kit.DeadlineAfter(t, kit.FaultPatience)
				namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
				write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
				write.Create(harness.Audited, nil)
				write.Create(harness.AuditedReads, nil)
				link := newHalfOpenLink(t, kit.HostPort(service))
				caller := startProgram(t, kit.PythonProgram(t, "python", "lostcalls.py"), way, call, link.address(), service.Address, namespace)
				caller.Step(ctx, "connected", &struct{}{})
				link.mute()
				write.Create("begin", nil)
				kit.UntilRecorded(ctx, t, namespace, 1)
				lose(link)

				var ended struct{ Kind, Message string }
				caller.Step(ctx, "ended", &ended)
				if ended.Kind != want.kind {
					t.Fatalf("the call ended with %q: %s; want %q", ended.Kind, ended.Message, want.kind)
				}
				caller.Ends(ctx)
				// The API server records requests in order, so that this is the last one.
				write.Patch(harness.Audited, map[string]any{"data": map[string]string{"key": "last"}})
				kit.UntilRecorded(ctx, t, namespace, want.sent+1)
			})
		}
	}
}

func newHalfOpenLink(t *testing.T, target string) *halfOpenLink {
	t.Helper()
	inner := harness.StartProxy(t, target, harness.None)
	return &halfOpenLink{harness.StartProxy(t, inner.Address(), harness.None), inner, target}
}

func (l *halfOpenLink) address() string { return "http://" + l.outer.Address() }

// mute withholds all responses.
func (l *halfOpenLink) mute() { l.inner.Set(harness.Muted) }

// cut closes the open connections. New ones work.
func (l *halfOpenLink) cut() {
	l.inner.Set(harness.Dropped)
	l.inner.Set(harness.None)
}

// replace lets new connections work. The open ones stay muted.
func (l *halfOpenLink) replace() {
	l.outer.AddTarget(l.target)
	l.outer.RemoveTarget(l.inner.Address())
}

// TestPythonClient_StoreKnowsThatItsConnectionIsDead freezes the link to the service.
func TestPythonClient_StoreKnowsThatItsConnectionIsDead(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, kit.FaultPatience)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			write.Create("one", nil)
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, kit.PythonProgram(t, "python", "stale.py"), way, "http://"+link.Address(), namespace)
			caller.storeHas(ctx, "value", false)

			link.Set(harness.Frozen)
			write.Touch("one", "missed")
			caller.storeHas(ctx, "value", true)
			link.Set(harness.None)
			caller.storeHas(ctx, "missed", false)
			write.Create("end", nil)
			caller.Ends(ctx)
		})
	}
}

// storeHas blocks until the program's store has a value in the object "one", and knows whether it
// is outdated.
func (p program) storeHas(ctx context.Context, value string, stale bool) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var state struct {
			Step           string
			Stale, Contact bool
			KnownStale     bool `json:"known_stale"`
			Data           map[string]map[string]string
		}
		if json.Unmarshal([]byte(line), &state) != nil || state.Step != "state" {
			return false
		}
		if state.Stale != state.KnownStale {
			p.t.Errorf("stale is %t, and freshness.stale %t", state.Stale, state.KnownStale)
		}
		return state.Data["one"]["key"] == value && state.Stale == stale && (state.Contact || stale)
	})
	if err != nil {
		p.t.Fatalf("%v: the store does not have %q with stale %t", err, value, stale)
	}
}

// TestPythonClient_SendsNoRejectedWriteTwice makes several calls at once, of which the service
// accepts one a second. Those that change nothing are retried after the retry delay, if their timeout
// allows.
func TestPythonClient_SendsNoRejectedWriteTwice(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"threads", "asyncio"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--caller-request-rate", "1", "--caller-request-burst", "1")
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
			caller := startProgram(t, kit.PythonProgram(t, "python", "limited.py"), way, service.Address, namespace)
			for step, rejected := range map[string]bool{"read": false, "read at once": true, "written": true, "tried": false} {
				var made struct{ Delays []int }
				caller.Step(ctx, step, &made)
				if slices.Max(made.Delays) > 0 != rejected {
					t.Errorf("%s: retry delays of the errors: %v; want errors: %t", step, made.Delays, rejected)
				}
			}
			caller.Ends(ctx)
		})
	}
}
