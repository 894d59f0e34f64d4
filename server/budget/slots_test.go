package budget

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

// Connect encodes and compresses a response when the handler has returned: that takes place in the
// slot, and waiting for the client does not.
func TestRespondInSlot_HoldsTheSlotUntilTheResponseIsWritten(t *testing.T) {
	processors := fairqueue.New(fairqueue.Limits{Total: 1})
	failed := errors.New("failed")
	for what, test := range map[string]struct {
		long     bool
		fails    error
		encoding int64 // number of slots in use meanwhile
	}{
		"a long answer":      {long: true, encoding: 1},
		"a short answer":     {},
		"one that is failed": {long: true, fails: failed, encoding: 1},
	} {
		t.Run(what, func(t *testing.T) {
			NewResponses(gate.Limits{}, observe.NewMetrics()).Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := RespondInSlot(fairqueue.With(r.Context(), processors, "a"), test.long, func(context.Context) (int, error) { return 1, test.fails })
				if !errors.Is(err, test.fails) {
					t.Errorf("answerInTurn returned %v", err)
				}
				if held := processors.Held(); held != test.encoding {
					t.Errorf("%d slots are in use while the response is encoded, want %d", held, test.encoding)
				}
				if test.fails != nil {
					return // nothing is written
				}
				if _, err := w.Write([]byte("answer")); err != nil {
					t.Error(err)
				}
				if held := processors.Held(); held != 0 {
					t.Errorf("%d slots are in use when the response has been written", held)
				}
			})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
			if held := processors.Held(); held != 0 {
				t.Errorf("%d slots are in use at the end", held)
			}
		})
	}
}
