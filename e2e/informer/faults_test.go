package informer_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// cut ends the service with SIGKILL, and the connections of the other informers at the same moment.
func (s *stage) cut() {
	s.T.Helper()
	s.service.Crash()
	for _, f := range s.followers {
		if !f.ours {
			f.link.cut()
		}
	}
}

// mend ends what cut has begun.
func (s *stage) mend() {
	s.T.Helper()
	for _, f := range s.followers {
		f.link.mend()
	}
	s.restartService()
}

// outage is a loss of all connections, after which the history of that time is available.
func (s *stage) outage(change func()) {
	s.T.Helper()
	s.cut()
	change()
	s.mend()
}

// lostHistory is a loss of the connections to the API server, after which it has no history of that
// time and answers 410 Gone.
func (s *stage) lostHistory(change func()) {
	s.T.Helper()
	list, err := s.API.List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	s.upstream.Set(harness.Refused)
	for _, f := range s.followers {
		if !f.ours {
			f.link.cut()
		}
	}
	change()
	kit.UntilCompacted(s.Ctx, s.T, s.cluster, list.ResourceVersion)
	s.upstream.Set(harness.None)
	for _, f := range s.followers {
		f.link.mend()
	}
}

// lostTokens is a restart of the service that ends all resume tokens: streams begin with RESET.
func (s *stage) lostTokens(change func()) {
	s.T.Helper()
	s.service.Crash()
	change()
	for _, f := range s.followers {
		f.link.mend()
	}
	s.restartService("--token-generation", "another")
}
