package informer_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// ofEachKind is the number of objects that a scenario changes in the same way.
const ofEachKind = 10

// kinds of objects, by what a scenario does to them.
const (
	stays   = "stays"
	touched = "touched"
	gone    = "gone"
	again   = "again"
	created = "created"
	brief   = "brief"
)

func each(kind string, do func(name string)) {
	for i := range ofEachKind {
		do(fmt.Sprintf("%s-%d", kind, i))
	}
}

// createAll creates the objects of these kinds.
func (s *stage) createAll(kinds ...string) {
	s.T.Helper()
	for _, kind := range kinds {
		each(kind, func(name string) { s.Create(name, nil) })
	}
}

// largeObject is the size in bytes of a large object. Compressed it has half of it, because its
// content is random.
const largeObject = 50_000

func (s *stage) createLarge(name string) {
	s.T.Helper()
	s.Create(name, nil)
	content := make([]byte, largeObject/2)
	_, _ = rand.Read(content)
	s.Touch(name, hex.EncodeToString(content))
}

// recreate deletes objects, and creates others under their names.
func (s *stage) recreate(kind string) {
	s.T.Helper()
	each(kind, s.Delete)
	each(kind, func(name string) { s.Create(name, nil) })
}

// changeAll changes the objects of each kind, the touched ones twice.
func (s *stage) changeAll() {
	s.T.Helper()
	each(touched, func(name string) {
		s.Touch(name, "first")
		s.Touch(name, "second")
	})
	each(gone, s.Delete)
	each(created, func(name string) { s.Create(name, nil) })
	s.recreate(again)
	each(brief, func(name string) {
		s.Create(name, nil)
		s.Delete(name)
	})
}

// calls returns the same calls for all objects of a kind.
func callsFor(kind string, calls ...string) map[string][]string {
	all := make(map[string][]string)
	each(kind, func(name string) { all[name] = calls })
	return all
}

func TestInformers_ReportARecreationAsDeletionAndAddition(t *testing.T) {
	t.Parallel()
	for name, while := range map[string]func(s *stage, change func()){
		"while connected":     func(_ *stage, change func()) { change() },
		"while not connected": (*stage).outage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, kit.Cluster(t))
			s.createAll(again)
			s.follow(implementations, settings{})
			s.mark()
			while(s, func() { s.recreate(again) })
			s.settle()
			s.wantChanges(recreated, callsFor(again, "delete", "add"))
			s.wantConsistentCalls()
		})
	}
}

// A restarted service sends the latest states, so that the Store reports the same as after a new
// list. After a lost connection the API server sends every change to the others.
func TestInformers_ReportTheDifferencesOfANewList(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cluster func(*testing.T) *harness.Cluster
		lost    func(s *stage, change func())
		with    []implementation
	}{
		"after 410 Gone of the API server": {kit.CompactingCluster, (*stage).lostHistory, implementations},
		"after RESET of the service":       {kit.CompactingCluster, (*stage).lostTokens, ours()},
		"after a restart of the service":   {kit.Cluster, (*stage).outage, ours()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, test.cluster(t))
			s.createAll(touched, gone, again)
			each(stays, s.createLarge)
			s.follow(test.with, settings{})
			s.mark()
			for _, f := range s.followers {
				f.link.slowDown() // so that readers read while a snapshot is received
			}
			test.lost(s, s.changeAll)
			s.settle()
			for _, f := range s.followers {
				s.verdict(f, wholeSnapshots, atLeast(f.fewestRead(), 2*ofEachKind))
			}
			s.wantCalls(unchangedInGap, callsFor(stays))
			s.wantChanges(recreatedInGap, callsFor(again, "delete", "add"))
			for kind, calls := range map[string][]string{touched: {"update"}, gone: {"delete"}, created: {"add"}, brief: nil} {
				s.wantChanges(differencesInGap, callsFor(kind, calls...))
			}
			s.wantConsistentCalls()
		})
	}
}
