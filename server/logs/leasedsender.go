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
// While the lease cannot be renewed, empty messages are sent in place of the logs, so that the stream is not silent. They
// need no lease, because they have no content. The logs are read no further than their buffers then, because their readers
// wait for the sender.
type leasedSender struct {
	// Set once.
	lease     *access.Lease
	unread    *fairqueue.Queue // see unreadLogs
	sendEmpty func() error     // sends a message without content
}

// sendPermitted calls send under a valid lease. While the message is unread, the given number of
// logs counts as unread. send makes its message when it is called, for the scope of the lease as it is then.
func (s *leasedSender) sendPermitted(ctx context.Context, logs int, send func() error) error {
	withhold := func() error { return s.sendWithheld(ctx, logs) }
	return s.lease.SendWhenValid(ctx, withhold, func() error { return s.sendUnder(ctx, s.lease, logs, send) })
}

// sendWithheld sends an empty message while the lease cannot be renewed.
func (s *leasedSender) sendWithheld(ctx context.Context, logs int) error {
	return s.sendUnder(ctx, nil, logs, s.sendEmpty)
}

// sendUnder calls send, which sends one message, under a lease; see [access.Lease.Send].
func (s *leasedSender) sendUnder(ctx context.Context, lease *access.Lease, logs int, send func() error) error {
	unread := unreadLogs{queue: s.unread, caller: call.CallerKey(s.lease.Caller.Identity), account: ledger.From(ctx), count: int64(logs)}
	defer unread.end()
	return lease.Send(ctx, streamlife.Guard{Fits: unread.fits}, send)
}
