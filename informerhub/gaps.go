package informerhub

import (
	"slices"
	"sort"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// gap is a range of versions that a relist has skipped. An object that was created and deleted
// within it left no trace here, but another replica may have delivered it. So no stream can
// continue from a version within the gap, unless the API server's own history has the deletions
// since then (see history.go).
type gap struct {
	from, to   string
	knownSince string // the version since which all deletions are known
}

// maxGaps bounds the number of gaps that are kept apart. Above it the two oldest ones are merged.
const maxGaps = 256

// recordGap records the version range that a relist has skipped.
func (l *changeLog) recordGap(from, to string) {
	if !object.Older(from, to) {
		return
	}
	l.gaps = append(l.gaps, gap{from: from, to: to, knownSince: to})
	if len(l.gaps) > maxGaps {
		second := l.gaps[1]
		l.gaps = slices.Replace(l.gaps, 0, 2, gap{from: l.gaps[0].from, to: second.to, knownSince: second.to})
	}
}

// gapAt returns the gap that contains a version; nil if there is none.
func (l *changeLog) gapAt(version string) *gap {
	at := sort.Search(len(l.gaps), func(i int) bool { return object.Older(version, l.gaps[i].to) })
	if at == len(l.gaps) || !object.Older(l.gaps[at].from, version) {
		return nil
	}
	return &l.gaps[at]
}

// skippedAt returns the end of the gap that contains a version; empty if there is none.
func (l *changeLog) skippedAt(version string) string {
	if gap := l.gapAt(version); gap != nil {
		return gap.to
	}
	return ""
}
