package streamlife

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// UnreadTimeout is the time that a client may leave a message of a stream unread before the stream
// ends. A watch can be resumed with its last token, and uses no memory until then. 0 is no limit.
type UnreadTimeout struct {
	Idle          time.Duration // while the client reads nothing
	Message       time.Duration // for the whole message, if the client reads slowly
	IdleContended time.Duration // while the client reads nothing, or reads slowly, and others wait for the memory of the message
}

// contendedRate is the rate, in bytes a second, at which a client must read a message while others wait for its memory: it has
// IdleContended more for the message than at that rate.
const contendedRate = 256 << 10

// dropAfter is the time after which the connection of an ended stream is closed if a write is still blocked: nothing can be written to
// it, not even the end of the stream.
const dropAfter = time.Second

// WatchUnreadTimeout is the timeout for watches.
var WatchUnreadTimeout = UnreadTimeout{Idle: 30 * time.Second, Message: 2 * time.Minute, IdleContended: 3 * time.Second}

// unreadInterval is the longest interval between checks of an unread message.
const unreadInterval = time.Second

// errUnread reports that a client has left a message unread. The client sees that the stream was
// reset.
var errUnread = apierror.Failure(metav1.StatusReasonServiceUnavailable,
	"the stream has ended, because a message was left unread for too long: resume it, and read faster")

// Unread tracks the messages of one stream that its client does not read. A message that is read at
// once costs a timer that does not fire. If a write has been blocked for a second, then at each
// second:
//
//  1. the stream ends if the client has left the message unread for too long;
//
//  2. the stream ends if the rest of the message must not be sent: see Guard.
//
// A stream ends by an expired deadline, so that writes fail. If they do not, its connection is closed. The only goroutine is that of the
// timer while it fires.
type Unread struct {
	timeout UnreadTimeout // set once, like cut and drop
	cut     func()        // ends the stream
	drop    func()        // closes its connection

	mu       sync.Mutex // guards the fields below
	writing  bool       // a write may be blocked
	began    time.Time  // begin of the first write of the message; zero between messages
	advanced time.Time  // time of the last completed write
	written  int        // bytes of the message
	timer    *time.Timer
	guarded  Guard
	failure  error // the reason why the stream was ended

	// checked is closed when the running check has ended, and stop ends the check; nil if there is
	// none.
	checked chan struct{}
	stop    context.CancelFunc
}

// Guard has the conditions of a message that is left unread. A nil condition is not checked.
type Guard struct {
	Contended func() bool  // whether others wait for the memory of the message
	Fits      func() error // why the stream must end because of the memory that it uses
	// Holds returns why the rest of the message must not be sent. Its context is done when the
	// client has continued to read, or has disconnected.
	Holds func(context.Context) error
}

// Track tracks the writes to w, which responds to a request with a context.
func (u *Unread) Track(ctx context.Context, w http.ResponseWriter, timeout UnreadTimeout) {
	u.timeout, u.drop = timeout, connectionOf(ctx).drop
	u.cut = func() {
		// An expired deadline is set only at the end, because it would remain on a connection of
		// HTTP/1.1, and each change of it wakes the goroutine of an HTTP/2 connection.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	}
}

// maxChunk bounds a single write. The client makes progress with each chunk.
const maxChunk = 16 << 10

// Write writes p in chunks.
func (u *Unread) Write(w io.Writer, p []byte) (written int, err error) {
	u.Begin()
	defer u.Pause()
	for written < len(p) && err == nil {
		var n int
		n, err = w.Write(p[written:min(len(p), written+maxChunk)])
		written += n
		u.progress(n)
	}
	return written, err
}

// During sends a message under a guard. If the stream was ended during that time, it returns the
// reason.
func (u *Unread) During(ctx context.Context, guarded Guard, send func() error) error {
	u.SetGuard(guarded)
	defer u.SetGuard(Guard{})
	err := send()
	switch why := u.Why(); {
	case why != nil:
		return why
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// SetGuard sets the conditions of the message that is sent next.
func (u *Unread) SetGuard(guarded Guard) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.guarded = guarded
}

// Begin is called before a write, which may block until Pause.
func (u *Unread) Begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if u.writing, u.advanced = true, now; u.began.IsZero() {
		u.began = now
	}
	if u.timer == nil {
		u.timer = time.AfterFunc(u.interval(), u.fire)
		return
	}
	u.timer.Reset(u.interval())
}

func (u *Unread) interval() time.Duration {
	if idle := u.timeout.Idle; idle > 0 {
		return min(idle, unreadInterval)
	}
	return unreadInterval
}

// progress records a completed write of n bytes.
func (u *Unread) progress(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.advanced, u.written = time.Now(), u.written+n
}

// Pause is called after a write. It returns when no check is running, so that the handler again
// owns the state that a guard reads, and the stream itself.
func (u *Unread) Pause() {
	u.mu.Lock()
	u.writing = false
	u.timer.Stop()
	checked := u.checked
	if checked != nil {
		u.stop()
	}
	u.mu.Unlock()
	if checked != nil {
		<-checked
	}
}

// end is called when a message has been written.
func (u *Unread) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began, u.written = time.Time{}, 0
}

// fire checks a message while a write of it is blocked.
func (u *Unread) fire() {
	ctx, ok := u.beginCheck()
	if !ok {
		if u.isStuck() {
			u.drop()
		}
		return
	}
	err := u.check(ctx)
	if ctx.Err() != nil {
		err = nil // the client has continued to read: the handler repeats the check
	}
	if err != nil {
		u.fail(err)
		u.cut()
	}
	u.endCheck()
}

func (u *Unread) fail(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failure = err
}

// Why returns the reason why the stream was ended, or nil.
func (u *Unread) Why() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failure
}

func (u *Unread) beginCheck() (ctx context.Context, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.writing || u.checked != nil || u.failure != nil {
		return nil, false
	}
	u.checked = make(chan struct{})
	ctx, u.stop = context.WithCancel(context.Background())
	return ctx, true
}

func (u *Unread) endCheck() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stop()
	close(u.checked)
	u.checked, u.stop = nil, nil
	switch {
	case u.writing && u.failure == nil:
		u.timer.Reset(u.interval())
	case u.writing:
		u.timer.Reset(dropAfter)
	}
}

// isStuck reports whether a write is blocked although the stream was ended.
func (u *Unread) isStuck() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.writing && u.failure != nil
}

// check returns the reason why the stream must end, or nil.
func (u *Unread) check(ctx context.Context) error {
	u.mu.Lock()
	idle, message, written, guarded := time.Since(u.advanced), time.Since(u.began), u.written, u.guarded
	u.mu.Unlock()
	behind := message - time.Duration(float64(written)/contendedRate*float64(time.Second))
	switch {
	case exceeds(idle, u.timeout.Idle), exceeds(message, u.timeout.Message):
		return errUnread
	case guarded.Contended != nil && exceeds(max(idle, behind), u.timeout.IdleContended) && guarded.Contended():
		return errUnread
	}
	if guarded.Fits != nil {
		if err := guarded.Fits(); err != nil {
			return err
		}
	}
	if guarded.Holds == nil {
		return nil
	}
	return guarded.Holds(ctx)
}

func exceeds(duration, limit time.Duration) bool { return limit > 0 && duration >= limit }
