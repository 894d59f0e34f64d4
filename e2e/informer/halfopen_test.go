package informer_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// The link stops to forward and closes nothing, as a firewall does that has forgotten a connection.
// The test of an informer that does not detect this takes a minute, and is only for `make soak`.
func TestInformers_ReplaceAConnectionThatIsHalfOpen(t *testing.T) {
	t.Parallel()
	_, long := kit.SoakFor(t)
	var with []implementation
	for _, each := range implementations {
		if long || shortcoming(halfOpen, each.name) == "" {
			with = append(with, each)
		}
	}
	s := newStage(t, kit.Cluster(t))
	s.createAll(stays, touched, gone, again)
	s.follow(with, settings{})
	for _, f := range s.followers {
		f.link.freeze()
	}
	s.changeAll()
	s.converged(halfOpen, "quick", "slow")
	s.wantConsistentCalls()
}
