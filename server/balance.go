package server

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// askInterval is how often a replica asks its peers, and balanceInterval how often it ends some
	// streams by what they have said.
	askInterval     = 5 * time.Second
	balanceInterval = time.Second
	// loadInterval is how often the load is computed that peers are answered.
	loadInterval = time.Second
	// minMoves and maxMoveTime bound the pace: so many streams are ended in an interval, or as many
	// that moving all of them would take that time.
	minMoves    = 5
	maxMoveTime = time.Minute
	// minAge is the least age of a stream that is ended because the replica has too many, and
	// minStaleAge that of one whose resource is stale. So a peer that lies costs a stream one resume in
	// that time, and no more.
	minAge      = time.Minute
	minStaleAge = 10 * time.Second
	// staleTime is for how long a replica has been stale when it ends the streams of a resource.
	staleTime = 10 * time.Second
	// spareStreams is how many streams a replica may have above a quarter more than its share.
	spareStreams = 10
)

var (
	errCrowded = failure(reasonMoved, "this replica has more streams than its peers: resume the stream, over a new connection")
	errStale   = failure(reasonMoved, "this replica has lost the API server, and another one has not: resume the stream, over a new connection")
)

// Load is what a replica tells its peers. Nothing in it names an object, a namespace or a caller.
type Load struct {
	// Replica tells one process from another.
	Replica string `json:"replica"`
	// Ready says that the replica takes streams.
	Ready bool `json:"ready"`
	// Streams is how many watches are open.
	Streams int `json:"streams"`
	// Fresh is the resources that the replica has in memory and that are current.
	Fresh []string `json:"fresh"`
}

// Balance ends streams of a replica that has far more of them than its peers have, and those of
// resources that are stale here and not at a peer. What peers say is not authenticated: it is used
// for nothing else, and whatever they say, streams end at a bounded pace, where they can be resumed.
type Balance struct {
	// Streams are those of this replica, Readiness is whether it is ready, and Caches are its caches.
	Streams   *Streams
	Readiness *Readiness
	Caches    CacheSource
	// Ask returns the loads of the replicas that answer, this one's among them or not.
	Ask func(context.Context) []Load

	replica string // set by NewBalance
	answer  *loadAnswer
}

// loadAnswer is the load as peers were last answered.
type loadAnswer struct {
	mu       sync.Mutex // guards the fields below; held while the load is computed
	computed time.Time
	text     []byte
}

// NewBalance completes a balance.
func NewBalance(balance Balance) *Balance {
	balance.replica = strconv.FormatUint(rand.Uint64(), 36)
	balance.answer = &loadAnswer{}
	return &balance
}

// Load returns the load of this replica.
func (b *Balance) Load() Load {
	ready, _ := b.Readiness.current()
	load := Load{Replica: b.replica, Ready: ready, Streams: b.Streams.count(), Fresh: []string{}}
	for _, status := range b.Caches.Status() {
		if status.Synced && !status.Stale {
			load.Fresh = append(load.Fresh, status.Resource.String())
		}
	}
	return load
}

// ServeHTTP implements http.Handler: it answers the load, to peers, which is computed once a second at
// most.
func (b *Balance) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.answer.of(b.Load))
}

// of returns the last answer, or computes another one.
func (a *loadAnswer) of(load func() Load) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); now.Sub(a.computed) >= loadInterval {
		a.text, _ = json.Marshal(load()) // it cannot fail: a Load is text and numbers
		a.computed = now
	}
	return a.text
}

// Run balances until the context ends.
func (b *Balance) Run(ctx context.Context) {
	tick := time.NewTicker(balanceInterval)
	defer tick.Stop()
	var peers []Load
	for asked := (time.Time{}); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if time.Since(asked) >= askInterval {
			peers, asked = b.peers(b.Ask(ctx)), time.Now()
		}
		b.step(peers)
	}
}

// peers returns the loads of other replicas that are ready, once for each replica.
func (b *Balance) peers(loads []Load) []Load {
	seen := map[string]bool{b.replica: true}
	var peers []Load
	for _, load := range loads {
		if load.Ready && load.Streams >= 0 && !seen[load.Replica] {
			peers = append(peers, load)
		}
		seen[load.Replica] = true
	}
	return peers
}

// step ends some streams. Those that are to end already, and cannot be resumed yet, count as moved: they may
// all end at once.
func (b *Balance) step(peers []Load) {
	if len(peers) == 0 {
		return
	}
	own := b.Streams.count()
	ending := b.Streams.countEnding()
	moves := max(minMoves, own*int(balanceInterval)/int(maxMoveTime)) - ending
	if stale := b.staleHere(peers); len(stale) > 0 {
		ended := b.Streams.endSome(moves, errStale, func(stream *openStream) bool {
			return time.Since(stream.began) >= minStaleAge && stream.follows(stale)
		})
		moves, ending = moves-ended, ending+ended
	}
	b.Streams.endSome(min(moves, excess(own, peers)-ending), errCrowded, func(stream *openStream) bool {
		return time.Since(stream.began) >= minAge
	})
}

// staleHere returns the resources that have been stale here for a while and are not at a peer.
func (b *Balance) staleHere(peers []Load) map[string]bool {
	fresh := map[string]bool{}
	for _, peer := range peers {
		for _, resource := range peer.Fresh {
			fresh[resource] = true
		}
	}
	stale := map[string]bool{}
	for _, status := range b.Caches.Status() {
		name := status.Resource.String()
		if status.Stale && time.Since(status.LastContact) >= staleTime && fresh[name] {
			stale[name] = true
		}
	}
	return stale
}

// excess returns how many streams a replica has above its share, and what it may have beside that.
func excess(own int, peers []Load) int {
	all := float64(own)
	for _, peer := range peers {
		all += float64(peer.Streams)
	}
	share := all / float64(len(peers)+1)
	return max(0, own-int(share*5/4)-spareStreams)
}
