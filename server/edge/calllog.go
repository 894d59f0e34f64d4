package edge

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
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

// changes are the procedures that change the cluster. Each of their calls that was sent to the API server
// is logged, and each that succeeds; the others are failed calls like those of other procedures.
var changes = map[string]bool{
	kubeconnectv1connect.ResourceServiceCreateProcedure:           true,
	kubeconnectv1connect.ResourceServiceUpdateProcedure:           true,
	kubeconnectv1connect.ResourceServicePatchProcedure:            true,
	kubeconnectv1connect.ResourceServiceDeleteProcedure:           true,
	kubeconnectv1connect.ResourceServiceDeleteCollectionProcedure: true,
}

// callLog logs ended calls to slog's default logger: each change that was sent, each call that has failed
// or was rejected, and a part of the others. A caller whose calls fail again and again does not fill the log.
// Its methods are safe for concurrent use.
type callLog struct {
	sample atomic.Uint64 // the part of other calls that is logged, as the bits of a float64

	mu     sync.Mutex        // guards the fields below
	failed map[bool]failures // by whether the caller is known; nil outside of an interval
}

// failure is what failed calls have in common that are counted together.
type failure struct{ caller, code string }

// failures are numbers of failed calls.
type failures map[failure]int

func newCallLog(sample float64) *callLog {
	l := &callLog{}
	l.setSample(sample)
	return l
}

func (l *callLog) setSample(sample float64) { l.sample.Store(math.Float64bits(sample)) }

// log logs an ended call.
func (l *callLog) log(c *call) {
	r := &c.record
	switch {
	case r.procedure == "":
		return // not a call
	case changes[r.procedure] && (r.err == nil || r.isSent.Load()):
		l.write(c, slog.LevelInfo, "change")
	case r.err != nil && !isNormal(r.err):
		if l.admits(r.caller != "", failure{callerOf(c), connect.CodeOf(r.err).String()}) {
			l.write(c, levelOf(r.err), "call failed")
		}
	case rand.Float64() < math.Float64frombits(l.sample.Load()):
		l.write(c, slog.LevelInfo, "call")
	default:
		l.write(c, slog.LevelDebug, "call")
	}
}

// isNormal reports whether calls end with an error in normal operation: their client has canceled
// them, or they are to continue at another replica.
func isNormal(err error) bool {
	return connect.CodeOf(err) == connect.CodeCanceled || reasonOf(err) == string(ReasonMoved)
}

// levelOf returns the level of a failed call, by who has to act.
func levelOf(err error) slog.Level {
	switch connect.CodeOf(err) {
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss:
		if coded := new(connect.Error); errors.As(err, &coded) && statusOf(coded) != nil {
			return slog.LevelWarn // the API server has responded with it, such as because of a webhook
		}
		return slog.LevelError // a fault of the service
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted:
		return slog.LevelWarn
	}
	return slog.LevelInfo // the caller's own
}

func callerOf(c *call) string {
	if c.record.caller != "" {
		return c.record.caller
	}
	return c.network
}

// admits reports whether to log a failed call of a caller that is known or not.
func (l *callLog) admits(isKnown bool, of failure) bool {
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
func (l *callLog) summarize() {
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

func (l *callLog) write(c *call, level slog.Level, message string) {
	ctx := context.Background() // that of the call has ended
	if slog.Default().Enabled(ctx, level) {
		slog.LogAttrs(ctx, level, message, c.attributes()...)
	}
}

// shortName returns a procedure without its package.
func shortName(procedure string) string {
	return procedure[strings.LastIndexByte(procedure, '.')+1:]
}

// attributes returns what is logged about a call. Nothing of it is from an object or a credential.
func (c *call) attributes() []slog.Attr {
	r := &c.record
	source, _, _ := net.SplitHostPort(c.request.RemoteAddr)
	attributes := []slog.Attr{
		slog.String("procedure", shortName(r.procedure)),
		slog.String("code", codeName(r.err)),
		slog.Float64("seconds", time.Since(r.began).Round(time.Microsecond).Seconds()),
		slog.Int64("bytes", r.bytes.Load()),
		slog.String("source", source),
		slog.String("request_id", r.id),
	}
	if objects := r.objects.Load(); objects > 0 {
		attributes = append(attributes, slog.Int64("objects", objects))
	}
	about := r.subjectOf()
	if about.subresource != "" {
		attributes = append(attributes, slog.String("subresource", about.subresource))
	}
	if about.dryRun {
		attributes = append(attributes, slog.Bool("dry_run", true))
	}
	for _, text := range []struct{ key, value string }{
		{"trace_id", c.span.traceID()}, {"caller", r.caller}, {"resource", r.about()}, {"namespace", about.namespace}, {"name", about.name},
		{"reason", reasonOf(r.err)}, {"error", errorText(c)},
	} {
		if text.value != "" {
			attributes = append(attributes, slog.String(text.key, text.value))
		}
	}
	return attributes
}

func codeName(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

func reasonOf(err error) string {
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return ""
	}
	return statusOf(coded).GetReason()
}

// maxLoggedError is the maximum length of an error in the log.
const maxLoggedError = 256

// errorText returns the message of an error. That of a change is omitted, unless its request was not read:
// the API server quotes an invalid object, which may be a Secret, and so can admission policies and
// webhooks, with any reason.
func errorText(c *call) string {
	var coded *connect.Error
	if !errors.As(c.record.err, &coded) || changes[c.record.procedure] && !c.record.isRefused {
		return ""
	}
	return cut(coded.Message(), maxLoggedError)
}
