package observe

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

const (
	// logInterval is the interval in which at most logBurst calls of one caller that fail with one
	// code are logged each. The number of the others is logged at its end.
	logInterval = 10 * time.Second
	logBurst    = 10
	// maxLogged bounds the pairs of callers and codes of one interval, and those of networks and codes
	// for calls whose caller is not known. Those above it are one pair. Because the bounds are separate,
	// clients without a credential cannot take the lines of callers.
	maxLogged = 1000
)

// CallLog logs ended calls to slog's default logger: each change that was sent, each call that has failed
// or was rejected, and a part of the others. A caller whose calls fail again and again does not fill the log.
// Its methods are safe for concurrent use.
type CallLog struct {
	sample atomic.Uint64 // the part of other calls that is logged, as the bits of a float64

	mu     sync.Mutex        // guards the fields below
	failed map[bool]failures // by whether the caller is known; nil outside of an interval
}

// failure is what failed calls have in common that are counted together.
type failure struct{ caller, code string }

// failures are numbers of failed calls.
type failures map[failure]int

func NewCallLog(sample float64) *CallLog {
	l := &CallLog{}
	l.SetSample(sample)
	return l
}

func (l *CallLog) SetSample(sample float64) { l.sample.Store(math.Float64bits(sample)) }

// Log logs an ended call.
func (l *CallLog) Log(c *call.Call) {
	r := &c.Record
	switch {
	case r.Procedure == "":
		return // not a call
	case r.IsChange() && (r.Err == nil || r.IsSent.Load()):
		l.write(c, slog.LevelInfo, "change")
	case r.Err != nil && !IsNormal(r.Err):
		if l.admits(r.Caller != "", failure{callerOf(c), connect.CodeOf(r.Err).String()}) {
			l.write(c, levelOf(r.Err), "call failed")
		}
	case rand.Float64() < math.Float64frombits(l.sample.Load()):
		l.write(c, slog.LevelInfo, "call")
	default:
		l.write(c, slog.LevelDebug, "call")
	}
}

// IsNormal reports whether calls end with an error in normal operation: their client has canceled
// them, or they are to continue at another replica.
func IsNormal(err error) bool {
	return connect.CodeOf(err) == connect.CodeCanceled || callerrors.ReasonOf(err) == string(callerrors.ReasonStreamMoved)
}

// levelOf returns the level of a failed call, by who has to act.
func levelOf(err error) slog.Level {
	switch connect.CodeOf(err) {
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss:
		if callerrors.StatusIn(err) != nil {
			return slog.LevelWarn // the API server has responded with it, such as because of a webhook
		}
		return slog.LevelError // a fault of the service
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted:
		return slog.LevelWarn
	}
	return slog.LevelInfo // the caller's own
}

func callerOf(c *call.Call) string {
	if c.Record.Caller != "" {
		return c.Record.Caller
	}
	return c.Network
}

// admits reports whether to log a failed call of a caller that is known or not.
func (l *CallLog) admits(isKnown bool, of failure) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = map[bool]failures{true: {}, false: {}}
		time.AfterFunc(logInterval, l.summarize)
	}
	failed := l.failed[isKnown]
	if failed[of] == 0 && len(failed) >= maxLogged {
		of = failure{caller: othersOf[isKnown]}
	}
	failed[of]++
	return failed[of] <= logBurst
}

// othersOf names the callers above maxLogged, and the networks of those that are not known.
var othersOf = map[bool]string{true: "other callers", false: "other addresses"}

// summarize logs how many failed calls were not logged, and begins the next interval.
func (l *CallLog) summarize() {
	l.mu.Lock()
	failed := l.failed
	l.failed = nil
	l.mu.Unlock()
	for _, each := range failed {
		for of, count := range each {
			if count > logBurst {
				slog.Warn("more calls failed", "caller", of.caller, "code", of.code, "calls", count-logBurst, "seconds", logInterval.Seconds())
			}
		}
	}
}

//nolint:contextcheck // the context of the call has ended
func (l *CallLog) write(c *call.Call, level slog.Level, message string) {
	ctx := context.Background() // that of the call has ended
	if slog.Default().Enabled(ctx, level) {
		slog.LogAttrs(ctx, level, message, c.Attributes()...)
	}
}
