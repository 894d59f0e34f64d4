package edge

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Limits are the limits of each caller. 0 is no limit.
type Limits struct {
	// Streams is the number of streams that a caller can have open at a time. A stream of several
	// watches counts once for each watch.
	Streams int
	// CredentialStreams is the part of Streams that each credential of a caller can use, such as
	// each pod of a service account.
	CredentialStreams int
	// Rate is the number of calls that a caller can make each second, in the long run. Opening a
	// stream is a call.
	Rate int
	// Burst is the number of calls that a caller can make at once, after an idle time. It applies
	// if Rate is set, and is at least 1 then.
	Burst int
	// Calls is the number of calls, other than streams, that a caller can have running at a time.
	// Further calls wait for a few seconds.
	Calls int
}

// checkWatches returns a BadRequest error if one stream can never have this number of watches.
func (l Limits) checkWatches(watches int) error {
	for _, limit := range []struct {
		holder  string
		streams int
	}{{"caller", l.Streams}, {"credential", l.CredentialStreams}} {
		if limit.streams > 0 && watches > limit.streams {
			return apierror.BadRequest("%d watches and counts in one stream: a %s can have %d streams open, so another attempt fails too", watches, limit.holder, limit.streams)
		}
	}
	return nil
}

// CallerKey returns the key by which limits distinguish callers: the user, whichever credential or
// pod it calls from. A user with many tokens therefore has no higher limits. Keys of different users
// differ, whatever characters their names have.
func CallerKey(identity auth.Identity) string {
	return escapeKey.Replace(identity.Username) + keyBorder + escapeKey.Replace(identity.UID)
}

// keyBorder separates the parts of a key. In a part it is escaped by a byte that no valid text has.
const keyBorder = "\x00"

var escapeKey = strings.NewReplacer(keyBorder, keyBorder+"\xff")

// userOf returns the user name of a CallerKey.
func userOf(key string) string {
	name, _, _ := strings.Cut(key, keyBorder)
	return name
}

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

// limitOf returns the limit that an error is about; nil if it is about none.
func limitOf(err error) *LimitError {
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
