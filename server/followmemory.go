package server

import (
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/follow"
)

const (
	// maxFollowMemory bounds the estimated memory of everything that streams follow, such as sorted
	// selections, and maxCallerFollowMemory that of one caller. A sorted object needs about 300 bytes.
	maxFollowMemory       = 512 << 20
	maxCallerFollowMemory = 256 << 20
)

func newFollowMemory(metrics *edge.Metrics) *follow.Budget {
	return follow.NewBudget(follow.Limits{Total: maxFollowMemory, PerCaller: maxCallerFollowMemory, Changed: metrics.SetFollowed})
}
