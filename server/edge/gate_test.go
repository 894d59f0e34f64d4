package edge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
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
		e := newEntrance(bodyPatience, newCallLog(0), NewUsage())
		e.handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			time.Sleep(2 * bodyPatience)
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
			c := newCall(httptest.NewRecorder(), r, "")
			if weight := weightOf(c, limit); weight != test.want {
				t.Errorf("weighs %d, want %d", weight, test.want)
			}
			if body, err := io.ReadAll(c.request.Body); err != nil || !bytes.Equal(body, []byte(test.body)) {
				t.Errorf("parsed %q, %v", body, err)
			}
		})
	}
}

func TestGate_RequestsOfOneCallerDoNotTakeThePlaceOfOthers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		g := &gate{callers: NewCallers(Limits{}), requests: newRequestQueue()}
		hold := func(name string) error {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, kubeconnectv1connect.ResourceServiceCreateProcedure, nil)
			r.ContentLength = maxManifestBytes
			return g.reserve(t.Context(), newCall(httptest.NewRecorder(), r, ""), connect.Spec{Procedure: kubeconnectv1connect.ResourceServiceCreateProcedure}, name)
		}
		var over *LimitError
		if err := hold("jane"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := hold("jane"); !errors.As(err, &over) || time.Since(began) != admitPatience {
			t.Errorf("returned %v after %s", err, time.Since(began))
		}
		if err := hold("joe"); err != nil {
			t.Errorf("another caller: %v", err)
		}
	})
}

func TestGate_CallsAboveTheLimitWaitAndMoreAreRefused(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		g := &gate{callers: NewCallers(Limits{}), calls: newCallQueue(20)}
		errs := make(chan error, 2*maxWaitingCalls)
		begin := func(name string) *call {
			c := &call{}
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
		for _, release := range first.releases {
			release()
		}
		if err := <-errs; err != nil {
			t.Errorf("the next that has waited: %v", err)
		}
		time.Sleep(admitPatience)
		synctest.Wait()
		if len(errs) != maxWaitingCalls-1 {
			t.Errorf("%d were rejected after their time", len(errs))
		}
		wantRefusal(t, <-errs)
	})
}

func wantRefusal(t *testing.T, err error) {
	t.Helper()
	statustest.WantOverLimit(t, ConnectError(err), "too many of your calls")
}
