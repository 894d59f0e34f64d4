package informerhub

import (
	"slices"
	"sort"
)

// gap is a span of versions that a relist has led over. What was made in it and deleted
// again has left no trace here, but another replica may have told of it. So nothing
// leads on from a version within, unless the API server's own history tells what was
// deleted since (see history.go).
type gap struct {
	from, to string
	known    string // the version since which the deletions are known
}

// maxGaps bounds how many gaps are told apart; the oldest ones become one.
const maxGaps = 256

// leapt notes that a relist has led from one version to another.
func (l *changeLog) leapt(from, to string) {
	if !older(from, to) {
		return
	}
	l.gaps = append(l.gaps, gap{from: from, to: to, known: to})
	if len(l.gaps) > maxGaps {
		second := l.gaps[1]
		l.gaps = slices.Replace(l.gaps, 0, 2, gap{from: l.gaps[0].from, to: second.to, known: second.to})
	}
}

// gapAt is the gap that a version lies within; nil if there is none.
func (l *changeLog) gapAt(version string) *gap {
	at := sort.Search(len(l.gaps), func(i int) bool { return older(version, l.gaps[i].to) })
	if at == len(l.gaps) || !older(l.gaps[at].from, version) {
		return nil
	}
	return &l.gaps[at]
}
