package logs

import (
	"context"
	"errors"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// leasedSender sends the messages of a stream of logs under an access lease. It is owned by the
// goroutine that sends them.
type leasedSender struct {
	lease  *access.Lease
	unread *fairqueue.Queue
}

// sendPermitted calls send under a valid lease. While the message is unread, the given number of
// logs counts as unread.
func (s *leasedSender) sendPermitted(ctx context.Context, logs int, send func() error) error {
	for {
		if err := s.renew(ctx); err != nil {
			return err
		}
		unread := unreadLogs{queue: s.unread, caller: call.CallerKey(s.lease.Caller.Identity), account: ledger.From(ctx), count: int64(logs)}
		err := s.lease.Send(ctx, streamlife.Guard{Fits: unread.fits}, send)
		unread.end()
		if !errors.Is(err, access.ErrDue) {
			return err
		}
	}
}

// renew renews the lease if that is due. While the cluster cannot be asked, nothing is sent.
func (s *leasedSender) renew(ctx context.Context) error {
	_, err := s.lease.RenewUntilValid(ctx, func() error { return s.lease.AwaitRetry(ctx) })
	return err
}
