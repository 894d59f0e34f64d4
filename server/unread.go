package server

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readPatience is how long a client may leave a message of a stream unread before the stream ends. A
// watch can be resumed with its last token, and until then it costs no memory. 0 is for ever.
type readPatience struct {
	still   time.Duration // for a client that reads nothing
	message time.Duration // for one that reads slowly
	awaited time.Duration // for one that reads nothing while others wait for the memory that the message takes
}

// watchPatience is that for watches.
var watchPatience = readPatience{still: 30 * time.Second, message: 2 * time.Minute, awaited: 3 * time.Second}

// unreadInterval is how often a message that is not read is looked at, at the least.
const unreadInterval = time.Second

// errUnread says that a client has left a message unread. The client sees that the stream was reset.
var errUnread = failure(metav1.StatusReasonServiceUnavailable,
	"the stream has ended, because a message was left unread for too long: resume it, and read faster")

// unread looks after the messages of one stream that its client does not read. A message that is
// read at once costs a timer that does not fire. Once a write has blocked for a second, each second:
//
//  1. the stream ends if the client has left the message unread for too long;
//  2. the stream ends if the message may no longer be sent: see guard.
//
// A stream ends by an expired deadline, so that writes fail. It has no goroutine but that of the
// timer while it fires.
type unread struct {
	patience readPatience    // set once, with those below
	ctx      context.Context // of the request
	cut      func()          // ends the stream

	mu       sync.Mutex // guards the fields below
	writing  bool       // a write may be blocked
	began    time.Time  // when the first write of the message did; zero between messages
	advanced time.Time  // when something was written last
	timer    *time.Timer
	guarded  guard
	failure  error // why the stream was ended

	// checked is closed when the check under way is over, and stop ends it; nil if there is none.
	checked chan struct{}
	stop    context.CancelFunc
}

// guard is what is asked about a message that is left unread. What is nil is not asked.
type guard struct {
	awaited func() bool                 // whether others wait for the memory that the message takes
	fits    func() error                // why the stream must end for the memory that it takes
	holds   func(context.Context) error // why the message may not be sent any further
}

// follow looks after what is written to w.
func (u *unread) follow(ctx context.Context, w http.ResponseWriter, patience readPatience) {
	u.ctx, u.patience = ctx, patience
	u.cut = func() {
		// A deadline that has passed is set only then: it would stay with a connection of HTTP/1.1, and
		// each change of it costs a turn of HTTP/2's goroutine.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	}
}

// maxChunk is how much is written at once. The client makes progress with each chunk.
const maxChunk = 16 << 10

// write writes in chunks.
func (u *unread) write(to io.Writer, p []byte) (written int, err error) {
	u.begin()
	defer u.pause()
	for written < len(p) && err == nil {
		var n int
		n, err = to.Write(p[written:min(len(p), written+maxChunk)])
		written += n
		u.progress()
	}
	return written, err
}

// during sends a message under a guard. If the stream was ended meanwhile, it returns why.
func (u *unread) during(ctx context.Context, guarded guard, send func() error) error {
	u.setGuard(guarded)
	defer u.setGuard(guard{})
	err := send()
	switch why := u.why(); {
	case why != nil:
		return why
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

func (u *unread) setGuard(guarded guard) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.guarded = guarded
}

// begin is called before a write, which may block until pause.
func (u *unread) begin() {
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

func (u *unread) interval() time.Duration {
	if still := u.patience.still; still > 0 {
		return min(still, unreadInterval)
	}
	return unreadInterval
}

// progress notes that something was written.
func (u *unread) progress() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.advanced = time.Now()
}

// pause is called after a write. It returns when no check is under way: what a guard looks at, and
// the stream itself, belong to the handler again.
func (u *unread) pause() {
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
func (u *unread) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began = time.Time{}
}

// fire checks a message while a write of it is blocked.
func (u *unread) fire() {
	ctx, ok := u.beginCheck()
	if !ok {
		return
	}
	err := u.check(ctx)
	if ctx.Err() != nil {
		err = nil // the client has read on: the handler asks again
	}
	if err != nil {
		u.fail(err)
		u.cut()
	}
	u.endCheck()
}

func (u *unread) fail(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failure = err
}

// why returns why the stream was ended, if it was.
func (u *unread) why() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failure
}

func (u *unread) beginCheck() (ctx context.Context, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.writing || u.checked != nil {
		return nil, false
	}
	u.checked = make(chan struct{})
	ctx, u.stop = context.WithCancel(u.ctx)
	return ctx, true
}

func (u *unread) endCheck() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stop()
	close(u.checked)
	u.checked, u.stop = nil, nil
	if u.writing && u.failure == nil {
		u.timer.Reset(u.interval())
	}
}

// check returns why the stream must end, if it must.
func (u *unread) check(ctx context.Context) error {
	u.mu.Lock()
	still, message, guarded := time.Since(u.advanced), time.Since(u.began), u.guarded
	u.mu.Unlock()
	switch {
	case exceeds(still, u.patience.still), exceeds(message, u.patience.message):
		return errUnread
	case guarded.awaited != nil && exceeds(still, u.patience.awaited) && guarded.awaited():
		return errUnread
	}
	if guarded.fits != nil {
		if err := guarded.fits(); err != nil {
			return err
		}
	}
	if guarded.holds == nil {
		return nil
	}
	return guarded.holds(ctx)
}

func exceeds(lasted, most time.Duration) bool { return most > 0 && lasted >= most }
