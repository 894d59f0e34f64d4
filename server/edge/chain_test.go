package edge

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMetrics_CountLimitsOfUnaryCallsAndStreams(t *testing.T) {
	metrics := observe.NewMetrics()
	errs := []error{nil, errors.New("other"), fmt.Errorf("wrapped: %w", &callerrors.LimitError{Limit: callerrors.LimitResponseMemory}), &callerrors.LimitError{Limit: callerrors.LimitRate}}
	for _, err := range errs {
		mapped := mapErrors{metrics: metrics}
		_, _ = mapped.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return nil, err })(
			t.Context(), connect.NewRequest(&struct{}{}))
		_ = mapped.WrapStreamingHandler(func(context.Context, connect.StreamingHandlerConn) error { return err })(t.Context(), nil)
	}
	metricstest.WantLines(t, metrics, "kubeconnect_limited_calls_total", `{limit="rate"} 2`, `{limit="response_memory"} 2`)
}
