package edge

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/internal/metricstest"
)

func TestMetrics_CountLimits(t *testing.T) {
	metrics := observe.NewMetrics()
	errs := []error{nil, errors.New("other"), fmt.Errorf("wrapped: %w", &callerrors.LimitError{Limit: callerrors.LimitResponseMemory}), &callerrors.LimitError{Limit: callerrors.LimitRate}}
	for _, err := range errs {
		chain := &Chain{config: Config{Metrics: metrics}}
		_ = chain.mapErrors(func(context.Context, connect.Spec, connect.ServerStream) error { return err })(t.Context(), connect.Spec{}, nil)
	}
	metricstest.WantLines(t, metrics, "kubeconnect_limited_calls_total", `{limit="rate"} 1`, `{limit="response_memory"} 1`)
}
