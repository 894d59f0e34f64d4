package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

const (
	// maxUnreadLogs is how many logs may be left unread at a time, and maxCallerUnreadLogs how
	// many of one caller. Each keeps about half a MiB in buffers on its way from the node.
	maxUnreadLogs       = 512
	maxCallerUnreadLogs = 128
)

func newUnreadLogs() *fairqueue.Queue {
	return fairqueue.New(fairqueue.Limits{Total: maxUnreadLogs, PerKey: maxCallerUnreadLogs})
}

// unreadLog counts a log from when a piece of it has been left unread for a moment until the piece
// has been read. A log that is not read stands still for as long as its client wants; so many may.
type unreadLog struct {
	queue   *fairqueue.Queue
	caller  string
	release func() // nil: it is not counted
}

// fits returns why the log must end, if there are too many.
func (u *unreadLog) fits() error {
	if u.release != nil {
		return nil
	}
	release, ok := u.queue.TryAcquire(u.caller, 1)
	if !ok {
		return failure(metav1.StatusReasonTooManyRequests,
			"too many logs are left unread: at most %d of one caller, and %d of all: read them faster, or open fewer", maxCallerUnreadLogs, maxUnreadLogs)
	}
	u.release = release
	return nil
}

func (u *unreadLog) end() {
	if u.release != nil {
		u.release()
	}
}
