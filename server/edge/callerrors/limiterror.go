package callerrors

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// Limit names a limit in the metrics.
type Limit string

// The limits that a call can be over.
const (
	LimitStreams           Limit = "streams"            // open streams of a caller
	LimitCredentialStreams Limit = "credential_streams" // open streams of a credential
	LimitRate              Limit = "rate"               // calls a second
	LimitCalls             Limit = "calls"              // concurrent calls
	LimitRequestBytes      Limit = "request_bytes"      // bytes of requests in progress
	LimitResponseMemory    Limit = "response_memory"    // memory of responses in progress
	LimitUpstreamLists     Limit = "upstream_lists"     // concurrent lists at the API server
	LimitUpstreamMemory    Limit = "upstream_memory"    // memory of what is read at the API server
	LimitHealthWatches     Limit = "health_watches"     // open watches of grpc.health.v1.Health
	LimitOpenLogs          Limit = "open_logs"          // open logs of containers
	LimitUnreadLogs        Limit = "unread_logs"        // logs whose client does not read
	LimitChanges           Limit = "changes"            // processor time of a caller's streams for changes
	LimitKeptMemory        Limit = "kept_memory"        // memory that is kept for open streams
)

// LimitError reports that a caller is over a limit, and when to retry.
type LimitError struct {
	Limit Limit
	Over  string
	Wait  time.Duration
}

// LimitOf returns the limit that an error is about; nil if it is about none.
func LimitOf(err error) *LimitError {
	var over *LimitError
	switch {
	case errors.As(err, &over):
		return over
	case errors.Is(err, ledger.ErrFull):
		return &LimitError{Limit: LimitKeptMemory, Over: err.Error(), Wait: streamsPause + rand.N(streamsPause)}
	case errors.Is(err, fairqueue.ErrBehind):
		return &LimitError{Limit: LimitChanges, Wait: streamsPause + rand.N(streamsPause), Over: "the changes of your streams take more than your share of the processors: " +
			"open fewer streams, select fewer objects, or give simpler filters and fields"}
	}
	return nil
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s; retry in %d s, or ask the operator of this service for a higher limit", e.Over, e.Seconds())
}

// Seconds returns the retry time, at least 1: 0 would mean that it is unknown.
func (e *LimitError) Seconds() int32 {
	return max(1, int32(math.Ceil(e.Wait.Seconds())))
}

func (e *LimitError) status() *kubeconnectv1.Status {
	status := encode.ErrorStatus(metav1.StatusReasonTooManyRequests, e)
	status.RetryAfterSeconds = e.Seconds()
	return status
}

// streamsPause is the shortest retry time of a caller whose open streams are over a limit. They release memory
// when they end, and what they have used for changes is paid by then.
const streamsPause = 5 * time.Second

// ReasonStreamMoved is the reason of the error that ends a watch so that its client resumes it at another
// replica. Clients report it less prominently than a failure.
const ReasonStreamMoved metav1.StatusReason = "StreamMoved"
