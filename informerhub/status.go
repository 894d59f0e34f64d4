package informerhub

import (
	"sync/atomic"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Status is the state of a cached resource, for operators. It names no object.
type Status struct {
	Resource Resource
	// Synced reports whether the cache has received a complete snapshot.
	Synced bool
	Freshness
	// Version is the version up to which the cache follows the cluster; empty before Synced.
	Version  string
	Objects  int
	Bytes    int // of the objects, roughly: see [Object.Size]
	Watchers int
	// Changes is the number of changes by watches and relists, including one for each object of the
	// first snapshot, and of a snapshot that begins a new history.
	Changes uint64
	// Relists is the number of complete snapshots after the first one.
	Relists int
	Beginnings
	// WindowSince is the time since which each step of each object is known: a watch that was
	// interrupted later continues without a gap. Zero before Synced.
	WindowSince time.Time
	// Rejected reports whether the last failed attempt to list or watch got an error response from the
	// API server, such as forbidden: the connection works.
	Rejected bool
	// Failures is the number of failed attempts to list or watch.
	Failures uint64
	// RelistingSince is the time at which reading of a complete snapshot began, the first one or
	// another, over all attempts; zero if none is being read.
	RelistingSince time.Time
	// Namespaces is the number of namespaces that are cached one by one; 0 if the resource is cached as a whole. The
	// numbers above are then their sums, and the other values those of the namespace that is behind the most.
	Namespaces int
}

// merge returns the state of a resource whose namespaces have two states.
func (s Status) merge(other Status) Status {
	s.Synced = s.Synced && other.Synced
	s.Freshness = worst([]Freshness{other.Freshness}, s.Freshness)
	if object.Older(other.Version, s.Version) || other.Version == "" {
		s.Version = other.Version
	}
	s.Objects, s.Bytes, s.Watchers = s.Objects+other.Objects, s.Bytes+other.Bytes, s.Watchers+other.Watchers
	s.Changes, s.Relists, s.Failures = s.Changes+other.Changes, s.Relists+other.Relists, s.Failures+other.Failures
	s.Beginnings = s.Beginnings.add(other.Beginnings)
	if other.WindowSince.After(s.WindowSince) {
		s.WindowSince = other.WindowSince
	}
	s.Rejected = s.Rejected || other.Rejected
	if since := other.RelistingSince; !since.IsZero() && (s.RelistingSince.IsZero() || since.Before(s.RelistingSince)) {
		s.RelistingSince = since
	}
	s.Namespaces += other.Namespaces
	return s
}

// Totals are numbers of caches.
type Totals struct {
	// Started is the number of shared caches that were started since the hub was made.
	Started int64
	// Unused is the number of those that have ended because nobody used them for Options.IdleTimeout.
	Unused int64
	// Private is the number of private caches that run.
	Private int
	// UnfinishedWatchLists is the number of watch-lists, of shared and private caches, that were ended because they were not
	// completed. A list replaced them.
	UnfinishedWatchLists int64
}

// Beginnings are the numbers of watches by how they have begun, or continued after an interruption. An
// open watch that the feed cannot continue, because it lags behind the log or because a new history has
// begun, counts again as a reset.
type Beginnings struct {
	// Snapshots began without a position.
	Snapshots int64 `json:"snapshots"`
	// Resumed continued with each step since their position.
	Resumed int64 `json:"resumed"`
	// LatestStates continued with the latest state of each object that has changed since.
	LatestStates int64 `json:"latestStates"`
	// Resets had a position and got a snapshot, because it is of another history or too old.
	Resets int64 `json:"resets"`
}

func (b Beginnings) add(other Beginnings) Beginnings {
	return Beginnings{
		b.Snapshots + other.Snapshots, b.Resumed + other.Resumed, b.LatestStates + other.LatestStates, b.Resets + other.Resets,
	}
}

// beginnings counts concurrently.
type beginnings struct{ snapshots, resumed, latestStates, resets atomic.Int64 }

func (b *beginnings) numbers() Beginnings {
	return Beginnings{b.snapshots.Load(), b.resumed.Load(), b.latestStates.Load(), b.resets.Load()}
}
