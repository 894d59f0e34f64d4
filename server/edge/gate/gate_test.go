package gate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// deadlines records the deadline that a call sets.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.read = at; return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = at; return nil }

func TestCall_ReceivedBodiesHaveNoDeadline(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		e := NewEntrance(0, observe.NewCallLog(0), observe.NewUsage(), observe.NewMetrics())
		e.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			time.Sleep(2 * bodyTimeout)
		})).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}")))
		if !w.read.IsZero() {
			t.Errorf("reading ends at %s", w.read)
		}
	})
}

func TestRequests_WeighWhatCanBeDecoded(t *testing.T) {
	const limit = 1000
	prefix := func(flags byte, length uint32) string {
		return string(binary.BigEndian.AppendUint32([]byte{flags}, length)) + "the message"
	}
	for name, test := range map[string]struct {
		method, contentType, encoding, body string
		chunked                             bool
		want                                int64
	}{
		"a stated length":           {contentType: "application/json", body: "12345", want: 5},
		"a length above the limit":  {contentType: "application/json", body: strings.Repeat("x", 2*limit), want: limit},
		"an unknown length":         {contentType: "application/json", body: "12345", chunked: true, want: limit},
		"a compressed body":         {contentType: "application/json", encoding: "gzip", body: "12345", want: limit},
		"a message":                 {contentType: "application/grpc", body: prefix(0, 11), chunked: true, want: 11},
		"a compressed message":      {contentType: "application/grpc-web+proto", body: prefix(1, 11), want: limit},
		"a message above the limit": {contentType: "application/connect+json", body: prefix(0, 1<<31), want: limit},
		"no message":                {contentType: "application/grpc", body: "", want: 0},
		"a GET":                     {method: http.MethodGet, want: 8},
	} {
		t.Run(name, func(t *testing.T) {
			if test.method == "" {
				test.method = http.MethodPost
			}
			r := httptest.NewRequestWithContext(t.Context(), test.method, "/?message=", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.contentType)
			r.Header.Set("Content-Encoding", test.encoding)
			if test.chunked {
				r.ContentLength = -1
			}
			c := call.New(httptest.NewRecorder(), r, "", func() {})
			if length, _ := lengthOf(c, limit); length != test.want {
				t.Errorf("has %d bytes, want %d", length, test.want)
			}
			if body, err := io.ReadAll(c.Request.Body); err != nil || !bytes.Equal(body, []byte(test.body)) {
				t.Errorf("parsed %q, %v", body, err)
			}
		})
	}
}

// sentBy returns a call of a procedure with a body.
func sentBy(t *testing.T, procedure, contentType string, body io.Reader, length int64) *call.Call {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, procedure, body)
	r.Header.Set("Content-Type", contentType)
	r.ContentLength = length
	return call.New(httptest.NewRecorder(), r, "", func() {})
}

func specOf(procedure string) connect.Spec {
	spec := connect.Spec{Procedure: procedure}
	if procedure == kubeconnectv1connect.ResourceServiceWatchManyProcedure {
		spec.StreamType = connect.StreamTypeServer
	}
	return spec
}

func newTestGate() *Gate {
	return New(NewEntrance(0, nil, nil, observe.NewMetrics()), Config{Callers: NewCallers(Limits{})})
}

func TestGate_RequestsOfOneCallerDoNotTakeThePlaceOfOthers(t *testing.T) {
	const procedure = kubeconnectv1connect.ResourceServiceCreateProcedure
	for name, test := range map[string]struct {
		body  string
		holds int // requests at a time
	}{
		"to be received": {strings.Repeat(" ", bounds.MaxManifestBytes), 1},
		"to be decoded":  {strings.Repeat(" ", bounds.MaxRequestBytes), 1},
		"small":          {strings.Repeat(" ", smallRequestBytes), 100},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				g := newTestGate()
				hold := func(name string) error {
					return g.reserve(t.Context(), sentBy(t, procedure, "application/proto", strings.NewReader(test.body), int64(len(test.body))), specOf(procedure), name)
				}
				for range test.holds {
					if err := hold("jane"); err != nil {
						t.Fatal(err)
					}
				}
				var over *callerrors.LimitError
				began := time.Now()
				if err := hold("jane"); test.holds == 1 && (!errors.As(err, &over) || time.Since(began) != admitTimeout) {
					t.Errorf("returned %v after %s", err, time.Since(began))
				}
				if err := hold("joe"); err != nil {
					t.Errorf("another caller: %v", err)
				}
			})
		})
	}
}

// TestGate_SlowRequestsHoldNothingThatOthersWaitFor has callers that send the beginning of large requests, many at
// a time, and do not send the rest.
func TestGate_SlowRequestsHoldNothingThatOthersWaitFor(t *testing.T) {
	const create, watchMany, list = kubeconnectv1connect.ResourceServiceCreateProcedure, kubeconnectv1connect.ResourceServiceWatchManyProcedure, kubeconnectv1connect.ResourceServiceListProcedure
	faketime.Test(t, func(t *testing.T) {
		g := newTestGate()
		ctx, leave := context.WithCancel(t.Context())
		var slow sync.WaitGroup
		for i := range 20 {
			for _, procedure := range []string{create, watchMany, list} {
				for _, length := range []int64{-1, bounds.MaxBytes(procedure)} {
					body, sends := io.Pipe()
					context.AfterFunc(ctx, func() { _ = sends.Close() })
					slow.Go(func() {
						_ = g.reserve(ctx, sentBy(t, procedure, "application/proto", body, length), specOf(procedure), fmt.Sprint("slow", i))
					})
				}
			}
		}
		synctest.Wait()
		began := time.Now()
		for _, procedure := range []string{create, watchMany, list} {
			text := strings.Repeat(" ", bounds.MaxRequestBytes/2)
			for _, length := range []int64{-1, int64(len(text))} {
				c := sentBy(t, procedure, "application/proto", strings.NewReader(text), length)
				if err := g.reserve(t.Context(), c, specOf(procedure), "jane"); err != nil || time.Since(began) > 0 {
					t.Errorf("%s of %d bytes: %v after %s", procedure, length, err, time.Since(began))
				}
				c.Decoded()
			}
		}
		leave()
		slow.Wait()
	})
}

// TestGate_ReservationsOfRequestsEndBeforeTheResponseIsSent has the interceptors release what was reserved: a client
// may never read the response.
func TestGate_ReservationsOfRequestsEndBeforeTheResponseIsSent(t *testing.T) {
	for _, procedure := range []string{kubeconnectv1connect.ResourceServiceCreateProcedure, kubeconnectv1connect.ResourceServiceWatchManyProcedure} {
		g := newTestGate()
		text := strings.Repeat(" ", bounds.MaxRequestBytes)
		c := sentBy(t, procedure, "application/proto", strings.NewReader(text), int64(len(text)))
		if err := g.reserve(t.Context(), c, specOf(procedure), "jane"); err != nil {
			t.Fatal(err)
		}
		held := func() int64 { return g.requests.Use().Held + g.received.Use().Held }
		if held() == 0 {
			t.Errorf("%s reserves nothing", procedure)
		}
		handler := ChargeRequests(func(_ context.Context, _ connect.Spec, stream connect.ServerStream) error {
			if held() == 0 {
				t.Errorf("%s: the handler reserves nothing", procedure)
			}
			return stream.Send(nil)
		})
		sent := sendFunc(func() {
			if held() != 0 {
				t.Errorf("%s: %d is held while the response is sent", procedure, held())
			}
		})
		if err := handler(c.Request.Context(), connect.Spec{}, sent); err != nil {
			t.Errorf("%s: %v", procedure, err)
		}
	}
}

// sendFunc is the stream of a call whose response is sent.
type sendFunc func()

func (f sendFunc) Receive(any) error  { return io.EOF }
func (f sendFunc) SendHeaders() error { return nil }
func (f sendFunc) Send(any) error     { f(); return nil }

func TestGate_CallsAboveTheLimitWaitAndMoreAreRefused(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		g := &Gate{config: Config{Callers: NewCallers(Limits{Calls: 20})}}
		errs := make(chan error, 2*maxWaitingCalls)
		begin := func(name string) *call.Call {
			c := call.New(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), "", func() {})
			go func() { errs <- g.beginCall(t.Context(), c, name) }()
			synctest.Wait()
			return c
		}
		first := begin("jane")
		for range 19 + maxWaitingCalls {
			begin("jane")
		}
		begin("jane") // more than allowed
		if len(errs) != 21 {
			t.Fatalf("%d calls do not wait, want the 20 under way and one", len(errs))
		}
		for range 20 {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, <-errs)
		begin("joe")
		if err := <-errs; err != nil {
			t.Errorf("another caller: %v", err)
		}
		first.End()
		if err := <-errs; err != nil {
			t.Errorf("the next that has waited: %v", err)
		}
		time.Sleep(admitTimeout)
		synctest.Wait()
		if len(errs) != maxWaitingCalls-1 {
			t.Errorf("%d were rejected after their time", len(errs))
		}
		wantRefusal(t, <-errs)
	})
}

func wantRefusal(t *testing.T, err error) {
	t.Helper()
	statustest.WantOverLimit(t, callerrors.ConnectError(err), "too many of your calls")
}
