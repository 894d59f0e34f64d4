package observe

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// written is what is logged during a test.
type written struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// take returns the lines since the last call.
func (w *written) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.text.Reset()
	return strings.Split(strings.TrimSuffix(w.text.String(), "\n"), "\n")
}

func captureLog(t *testing.T, level slog.Level) *written {
	t.Helper()
	lines, before := &written{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: level})))
	t.Cleanup(func() { slog.SetDefault(before) })
	return lines
}

// endedCall returns a call of a caller that has ended.
func endedCall(t *testing.T, caller, procedure string, err error) *call.Call {
	t.Helper()
	c := call.New(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), "192.0.2.0/24", func() {})
	c.Record.Caller = caller
	c.Record.Procedure, c.Record.Err = procedure, callerrors.ConnectError(err)
	return c
}

const (
	listProcedure  = kubeconnectv1connect.ResourceServiceListProcedure
	patchProcedure = kubeconnectv1connect.ResourceServicePatchProcedure
)

var changeProcedures = []string{
	kubeconnectv1connect.ResourceServiceCreateProcedure,
	kubeconnectv1connect.ResourceServiceUpdateProcedure,
	kubeconnectv1connect.ResourceServicePatchProcedure,
	kubeconnectv1connect.ResourceServiceDeleteProcedure,
	kubeconnectv1connect.ResourceServiceDeleteCollectionProcedure,
}

func TestCallLog_LevelsSayWhoHasToAct(t *testing.T) {
	lines, l := captureLog(t, slog.LevelDebug), NewCallLog(0)
	for i, test := range []struct {
		err  error
		want string
	}{
		{nil, `level=DEBUG msg=call`},
		{connect.NewError(connect.CodeCanceled, "canceled"), `level=DEBUG msg=call`},
		{apierror.Failure(callerrors.ReasonStreamMoved, "resume the stream over a new connection"), `level=DEBUG msg=call`},
		{auth.ErrUnauthenticated, `level=INFO msg="call failed"`},
		{&callerrors.LimitError{Over: "limit"}, `level=WARN msg="call failed"`},
		{informerhub.ErrClosed, `level=WARN msg="call failed"`},
		{errors.New("a bug"), `level=ERROR msg="call failed"`},
		{fmt.Errorf("a bug: %w", apierrors.NewInternalError(errors.New("etcd is away"))), `level=WARN msg="call failed"`},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "the webhook answers 500"}}, `level=WARN msg="call failed"`},
	} {
		l.Log(endedCall(t, fmt.Sprintf("caller-%d", i), listProcedure, test.err))
		if got := lines.take(); len(got) != 1 || !strings.Contains(got[0], test.want) {
			t.Errorf("%v: %q, want %s", test.err, got, test.want)
		}
	}
	l.Log(endedCall(t, "", "", nil)) // the request of a page
	if got := lines.take(); got[0] != "" {
		t.Errorf("a request that is no call: %q", got)
	}
}

func TestCallLog_SamplesCallsThatSucceed(t *testing.T) {
	lines := captureLog(t, slog.LevelInfo)
	for sample, want := range map[float64]int{0: 0, 1: 50} {
		l := NewCallLog(sample)
		for range 50 {
			l.Log(endedCall(t, "jane", listProcedure, nil))
		}
		if got := strings.Count(strings.Join(lines.take(), "\n"), "msg=call"); got != want {
			t.Errorf("with the sample %v %d lines, want %d", sample, got, want)
		}
	}
}

// TestCallLog_FailuresOfOneCallerDoNotFillTheLog uses fake time.
func TestCallLog_FailuresOfOneCallerDoNotFillTheLog(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		lines, l := captureLog(t, slog.LevelInfo), NewCallLog(0)
		for range 100 {
			l.Log(endedCall(t, "noisy", listProcedure, auth.ErrUnauthenticated))
			l.Log(endedCall(t, "noisy", patchProcedure, nil))
		}
		l.Log(endedCall(t, "noisy", listProcedure, &callerrors.LimitError{Over: "limit"}))
		l.Log(endedCall(t, "calm", listProcedure, auth.ErrUnauthenticated))
		text := strings.Join(lines.take(), "\n")
		for words, want := range map[string]int{
			"code=unauthenticated": logBurst + 1, "code=resource_exhausted": 1, "caller=calm": 1, "msg=change": 100,
		} {
			if got := strings.Count(text, words); got != want {
				t.Errorf("%d lines with %s, want %d", got, words, want)
			}
		}
		time.Sleep(logInterval)
		synctest.Wait()
		if got := lines.take(); len(got) != 1 || !strings.Contains(got[0], `msg="more calls failed" caller=noisy code=unauthenticated calls=90`) {
			t.Errorf("after the interval: %q", got)
		}
		l.Log(endedCall(t, "noisy", listProcedure, auth.ErrUnauthenticated))
		if got := lines.take(); !strings.Contains(got[0], "caller=noisy") {
			t.Errorf("in the next interval: %q", got)
		}
		time.Sleep(logInterval)
	})
}

// TestCallLog_ChangesThatWereNotSentAreFailures uses fake time. A caller can have changes refused before
// they reach the API server as fast as reads; each change that was sent is logged.
func TestCallLog_ChangesThatWereNotSentAreFailures(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		lines, l := captureLog(t, slog.LevelInfo), NewCallLog(0)
		for _, procedure := range changeProcedures {
			for range 100 {
				l.Log(endedCall(t, "noisy", procedure, connect.NewError(connect.CodeInvalidArgument, "no name")))
				sent := endedCall(t, "busy", procedure, connect.NewError(connect.CodePermissionDenied, "forbidden"))
				call.NoteSent(sent.Request.Context())
				l.Log(sent)
			}
		}
		text := strings.Join(lines.take(), "\n")
		for words, want := range map[string]int{
			`msg="call failed"`: logBurst, "caller=noisy": logBurst, "msg=change": 100 * len(changeProcedures), "caller=busy": 100 * len(changeProcedures),
		} {
			if got := strings.Count(text, words); got != want {
				t.Errorf("%d lines with %s, want %d", got, words, want)
			}
		}
		time.Sleep(logInterval)
	})
}

// TestCallLog_ManyCallersDoNotFillTheMemory uses fake time.
func TestCallLog_ManyCallersDoNotFillTheMemory(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		lines, l := captureLog(t, slog.LevelInfo), NewCallLog(0)
		for i := range maxLogged + 100 {
			l.Log(endedCall(t, fmt.Sprintf("caller-%d", i), listProcedure, auth.ErrUnauthenticated))
		}
		l.mu.Lock()
		kept := len(l.failed)
		l.mu.Unlock()
		if kept > maxLogged+1 {
			t.Errorf("%d callers are kept", kept)
		}
		time.Sleep(logInterval)
		synctest.Wait()
		if text := strings.Join(lines.take(), "\n"); !strings.Contains(text, `msg="more calls failed" caller="other callers"`) {
			t.Error("the others are not counted")
		}
	})
}

// TestCallLog_UnknownClientsDoNotHideCallers uses fake time.
func TestCallLog_UnknownClientsDoNotHideCallers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		lines, l := captureLog(t, slog.LevelInfo), NewCallLog(0)
		for i := range 2 * maxLogged {
			c := endedCall(t, "", listProcedure, auth.ErrUnauthenticated)
			c.Network = fmt.Sprintf("2001:db8:%x::/64", i)
			l.Log(c)
		}
		if got := len(lines.take()); got > maxLogged+logBurst {
			t.Errorf("%d lines of unknown clients", got)
		}
		for i := range maxLogged {
			l.Log(endedCall(t, fmt.Sprintf("caller-%d", i), listProcedure, auth.ErrUnauthenticated))
		}
		if got := len(lines.take()); got != maxLogged {
			t.Errorf("%d lines of %d callers", got, maxLogged)
		}
		time.Sleep(logInterval)
	})
}
