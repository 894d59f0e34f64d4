package logs

import (
	"fmt"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

const (
	// maxUnreadLogs bounds the logs that are left unread at a time, and maxCallerUnreadLogs those
	// of one caller. Each uses about half a MiB in buffers between here and the node: unreadLogBytes.
	maxUnreadLogs       = 512
	maxCallerUnreadLogs = 128
	unreadLogBytes      = 512 << 10
)

func newUnreadLogs() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxUnreadLogs, PerKey: maxCallerUnreadLogs})
}

// unreadLogs counts the logs of a stream while a message is left unread for longer than a moment.
// Logs that are not read block for as long as their client wants, so the number of these logs is
// bounded.
type unreadLogs struct {
	queue   *fairqueue.Queue
	caller  string
	account ledger.Account
	count   int64
	release func() // nil while they are not counted
}

// fits returns the reason why the log must end if too many logs are unread, or nil.
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

func (u *unreadLogs) end() {
	if u.release != nil {
		u.release()
	}
}
