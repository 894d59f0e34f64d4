package logs

import (
	"fmt"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

const (
	// maxOpenLogs bounds the logs that all streams of log lines have open, and maxCallerOpenLogs those
	// of one caller. Each has a goroutine, a request to the API server and a connection to a node. A
	// silent one uses some KiB; one that writes lines of 64 KiB that a client does not read also
	// counts as unread.
	maxOpenLogs       = 4096
	maxCallerOpenLogs = 512
	// contextLogs is the number of logs that one counts as whose last lines are kept because the next
	// one may match.
	contextLogs = 4
	// openLogBytes estimates the memory of a silent log: goroutines, a request and small buffers. contextBytes is
	// that of the lines that are kept because the next one may match.
	openLogBytes = 32 << 10
	contextBytes = 256 << 10
)

// newOpenLogs returns the queue that counts open logs. Nothing waits in it: a log above a limit is not opened.
func newOpenLogs() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxOpenLogs, PerKey: maxCallerOpenLogs})
}

// openLogs counts the open logs of a stream of lines. It is a value without state: what acquire counts is returned by release.
type openLogs struct {
	queue   *fairqueue.Queue
	caller  string // see call.CallerKey
	account ledger.Account
	weight  int64 // of a log
	bytes   int   // of a log
}

// acquire counts another log until release is called. It returns an error if there are too many.
func (o openLogs) acquire() (release func(), err error) {
	endCount, ok := o.queue.TryAcquire(o.caller, o.weight)
	if !ok {
		return nil, &callerrors.LimitError{Limit: callerrors.LimitOpenLogs, Over: fmt.Sprintf(
			"too many logs are open: at most %d of one caller and %d in all, and a log with before_lines counts as %d; end other streams of log lines, or select fewer logs",
			maxCallerOpenLogs, maxOpenLogs, contextLogs)}
	}
	charge, err := o.account.Charge(o.bytes)
	if err != nil {
		endCount()
		return nil, err
	}
	return func() { charge.Release(); endCount() }, nil
}

const (
	// maxUnreadLogs bounds the logs that are left unread at a time, and maxCallerUnreadLogs those
	// of one caller. Each uses about half a MiB in buffers between here and the node: unreadLogBytes.
	maxUnreadLogs       = 512
	maxCallerUnreadLogs = 128
	unreadLogBytes      = 512 << 10
)

// newUnreadLogs returns the queue that counts unread logs. Nothing waits in it either: the check of an unread message must not block.
func newUnreadLogs() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxUnreadLogs, PerKey: maxCallerUnreadLogs})
}

// unreadLogs counts the logs of a stream while a message is left unread for longer than a moment.
// Logs that are not read block for as long as their client wants, so the number of these logs is
// bounded.
//
// It belongs to one message. fits is called by streamlife.Unread, in the goroutine of its timer, while the sender is blocked in a
// write; end is called by the sender after the write. The write returns only when no check is running, so release needs no lock.
type unreadLogs struct {
	queue   *fairqueue.Queue
	caller  string
	account ledger.Account
	count   int64  // of the stream
	release func() // nil while they are not counted
}

// fits returns the reason why the log must end if too many logs are unread, or nil. It is called again and again while the message
// is unread, and counts the logs once. A message that is read at once is never counted.
func (u *unreadLogs) fits() error {
	if u.release != nil {
		return nil
	}
	release, ok := u.queue.TryAcquire(u.caller, u.count)
	if !ok {
		return &callerrors.LimitError{Limit: callerrors.LimitUnreadLogs, Over: fmt.Sprintf(
			"too many logs are left unread: at most %d of one caller and %d in all; read them faster, or open fewer", maxCallerUnreadLogs, maxUnreadLogs)}
	}
	charge, err := u.account.Charge(int(u.count) * unreadLogBytes)
	if err != nil {
		release()
		return err
	}
	u.release = func() { charge.Release(); release() }
	return nil
}

// end ends the count, if the message was unread for long enough to be counted.
func (u *unreadLogs) end() {
	if u.release != nil {
		u.release()
	}
}
