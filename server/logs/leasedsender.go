package logs

import (
	"context"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// leasedSender sends the messages of a stream of logs under an access lease. It is owned by the
// goroutine that sends them.
//
// While the lease cannot be renewed, nothing is sent: a log has no bookmark that could report it. The logs are read no
// further than their buffers then, because their readers wait for the sender.
type leasedSender struct {
	lease  *access.Lease
	unread *fairqueue.Queue // see unreadLogs
}

// sendPermitted calls send under a valid lease. While the message is unread, the given number of
// logs counts as unread. send makes its message when it is called, for the scope of the lease as it is then.
func (s *leasedSender) sendPermitted(ctx context.Context, logs int, send func() error) error {
	unread := unreadLogs{queue: s.unread, caller: call.CallerKey(s.lease.Caller.Identity), account: ledger.From(ctx), count: int64(logs)}
	defer unread.end()
	return s.lease.SendWhenValid(ctx, nothing, func() error { return s.lease.Send(ctx, streamlife.Guard{Fits: unread.fits}, send) })
}

// renew renews the lease if that is due.
func (s *leasedSender) renew(ctx context.Context) error {
	return s.lease.RenewUntilValid(ctx, nothing)
}

// nothing is what is sent while the cluster cannot be asked.
func nothing() error { return nil }
