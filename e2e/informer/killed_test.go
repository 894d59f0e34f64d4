package informer_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// changes is the number of changes in TestInformers_ConvergeAfterConnectionsAreLost, and
	// manyChanges that of `make soak`.
	changes     = 2000
	manyChanges = 10_000
	// maxAttempts is the number of connections that an informer may open in an outage of some seconds
	// if it pauses between them. One that does not opens hundreds.
	maxAttempts = 60
	// slowSeconds is how long a handler takes for an update.
	slowSeconds = 0.01
)

func TestInformers_ConvergeAfterConnectionsAreLost(t *testing.T) {
	t.Parallel()
	count := changes
	if _, long := kit.SoakFor(t); long {
		count = manyChanges
	}
	s := newStage(t, kit.Cluster(t))
	s.createAll(stays, "mixed")
	s.follow(implementations, settings{Pause: slowSeconds})
	before := make(map[*follower]int)
	for _, f := range s.followers {
		before[f] = f.link.attempts()
	}
	chance := rand.New(rand.NewPCG(1, uint64(count)))
	for i := range count {
		switch i {
		case count / 3:
			s.cut()
		case count * 2 / 3:
			s.mend()
		}
		s.changeOne(chance, i)
	}
	s.settle()
	s.wantConsistentCalls()
	for _, f := range s.followers {
		attempts := f.link.attempts() - before[f]
		s.verdict(f, pausedRetries, atMost(attempts, maxAttempts))
		t.Logf("%s: %d connections, %d calls of handlers for %d changes", f.name, attempts, len(f.received("quick", 0)), count)
	}
}

// changeOne changes, or deletes and recreates, an object of the kind "mixed".
func (s *stage) changeOne(chance *rand.Rand, change int) {
	s.T.Helper()
	name := fmt.Sprintf("mixed-%d", chance.IntN(ofEachKind))
	if chance.IntN(10) > 0 {
		s.Touch(name, strconv.Itoa(change))
		return
	}
	s.Delete(name)
	s.Create(name, nil)
}

func atLeast(seen, want int) error {
	if seen < want {
		return fmt.Errorf("a reader saw %d objects, want at least %d", seen, want)
	}
	return nil
}

func atMost(attempts, want int) error {
	if attempts > want {
		return fmt.Errorf("%d connections, want at most %d", attempts, want)
	}
	return nil
}
