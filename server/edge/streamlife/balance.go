package streamlife

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/health"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

const (
	// askInterval is the interval at which a replica asks its peers for their loads, and
	// balanceInterval the interval at which it ends streams because of them.
	askInterval     = 5 * time.Second
	balanceInterval = time.Second
	// loadInterval is the minimum interval at which the load for peers is computed.
	loadInterval = time.Second
	// minMoves and maxMoveTime bound the pace: at most minMoves streams are ended in an interval,
	// or the number at which ending all streams would take maxMoveTime, whichever is larger.
	minMoves    = 5
	maxMoveTime = time.Minute
	// minAge is the minimum age of a stream that is ended because the replica has too many, and
	// minStaleAge the minimum age of a stream that is ended because its resource is stale. A peer
	// that reports a wrong load therefore costs a stream at most one resume in that time.
	minAge      = time.Minute
	minStaleAge = 10 * time.Second
	// staleTime is the time after which a stale resource's streams are ended.
	staleTime = 10 * time.Second
	// spareStreams is the number of streams that a replica may have above 125 % of its share.
	spareStreams = 10
)

var (
	errCrowded = apierror.Failure(callerrors.ReasonStreamMoved, "this replica has more streams than its peers: resume the stream over a new connection")
	errStale   = apierror.Failure(callerrors.ReasonStreamMoved, "the API server is unreachable for this replica, but not for another: resume the stream over a new connection")
)

// Load is the load that a replica reports to its peers. It does not name an object, a namespace or
// a caller.
type Load struct {
	// Replica identifies the process.
	Replica string `json:"replica"`
	// Ready reports that the replica accepts streams.
	Ready bool `json:"ready"`
	// Streams is the number of open watches.
	Streams int `json:"streams"`
	// Fresh lists the resources whose caches on this replica are current; none while ReviewsFail.
	Fresh []string `json:"fresh"`
	// ReviewsFail reports that the API server answers no reviews of the callers of this replica.
	ReviewsFail bool `json:"reviewsFail,omitempty"`
	// Decided is the time since the API server's last decision, in seconds, by the kind of review.
	Decided map[string]float64 `json:"decided,omitempty"`
}

// Balance ends streams of a replica that has far more of them than its peers, and streams that are
// stale here but current at a peer: because the cache of their resource is, or because the API server
// answers no reviews of this replica, and has since answered those of the peer. While reviews fail at
// all replicas, no stream ends. Loads of peers are not authenticated. They
// are used for nothing else, and whatever they contain, streams end at a bounded pace and only
// where they can be resumed.
type Balance struct {
	// Streams, Readiness, Caches and Reviews are those of this replica.
	Streams   *Streams
	Readiness *health.Readiness
	Caches    health.CacheSource
	Reviews   health.Reviews
	// Ask returns the loads of the replicas that respond. This replica may be among them.
	Ask func(context.Context) []Load

	replica  string // set by NewBalance
	response *loadResponse
}

// loadResponse caches the response with the load for peers.
type loadResponse struct {
	mu       sync.Mutex // guards the fields below; held while the load is computed
	computed time.Time
	text     []byte
}

// NewBalance returns balance with an identifier of this replica.
func NewBalance(balance Balance) *Balance {
	balance.replica = strconv.FormatUint(rand.Uint64(), 36)
	balance.response = &loadResponse{}
	return &balance
}

// Load returns the load of this replica.
func (b *Balance) Load() Load {
	ready, _ := b.Readiness.Current()
	load := Load{Replica: b.replica, Ready: ready, Streams: b.Streams.count(), Fresh: []string{}, Decided: map[string]float64{}}
	for kind, source := range b.Reviews {
		if stats := source.ReviewStats(); !stats.DecidedAt.IsZero() {
			load.Decided[kind] = time.Since(stats.DecidedAt).Seconds()
		}
	}
	if load.ReviewsFail = b.Reviews.Err() != nil; load.ReviewsFail {
		return load
	}
	for _, status := range b.Caches.Status() {
		if status.Synced && !status.Stale {
			load.Fresh = append(load.Fresh, status.Resource.String())
		}
	}
	return load
}

// ServeHTTP implements http.Handler: it returns the load to peers. The load is computed at most
// once a second.
func (b *Balance) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.response.get(b.Load))
}

// get returns the cached response, or computes a new one.
func (a *loadResponse) get(load func() Load) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); now.Sub(a.computed) >= loadInterval {
		a.text, _ = json.Marshal(load()) // never fails: a Load consists of strings and numbers
		a.computed = now
	}
	return a.text
}

// Run balances until ctx is done.
func (b *Balance) Run(ctx context.Context) {
	tick := time.NewTicker(balanceInterval)
	defer tick.Stop()
	var peers []Load
	for lastAsked := (time.Time{}); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if time.Since(lastAsked) >= askInterval {
			lastAsked = time.Now()
			peers = b.peers(b.Ask(ctx))
		}
		b.step(peers, lastAsked)
	}
}

// peers returns the loads of the other replicas that serve calls, one for each replica.
func (b *Balance) peers(loads []Load) []Load {
	seen := map[string]bool{b.replica: true}
	var peers []Load
	for _, load := range loads {
		if load.Ready && !load.ReviewsFail && load.Streams >= 0 && !seen[load.Replica] {
			peers = append(peers, load)
		}
		seen[load.Replica] = true
	}
	return peers
}

// step ends some streams if necessary. Streams that are already ending, and cannot be resumed yet,
// count as moved, because they may all end at once. The peers were asked at a time.
func (b *Balance) step(peers []Load, asked time.Time) {
	if len(peers) == 0 {
		return
	}
	own := b.Streams.count()
	ending := b.Streams.countEnding()
	moves := max(minMoves, own*int(balanceInterval)/int(maxMoveTime)) - ending
	if stale := b.staleHere(peers, asked); len(stale) > 0 {
		ended := b.Streams.endSome(moves, errStale, func(stream *OpenStream) bool {
			return time.Since(stream.began) >= minStaleAge && stream.follows(stale)
		})
		moves, ending = moves-ended, ending+ended
	}
	if b.Reviews.Err() != nil {
		return
	}
	b.Streams.endSome(min(moves, excess(own, peers)-ending), errCrowded, func(stream *OpenStream) bool {
		return time.Since(stream.began) >= minAge
	})
}

// staleHere returns the resources whose streams have been stale here for at least staleTime and are
// current at a peer.
func (b *Balance) staleHere(peers []Load, asked time.Time) map[string]bool {
	kind, failing := b.Reviews.Failing()
	unreviewed := kind != "" && time.Since(failing.FailingSince) >= staleTime
	fresh, reviewed := map[string]bool{}, map[string]bool{} // at a peer; at one whose callers were reviewed since
	for _, peer := range peers {
		ago, ok := peer.Decided[kind]
		decided := ok && asked.Add(-time.Duration(ago*float64(time.Second))).After(failing.FailingSince)
		for _, resource := range peer.Fresh {
			fresh[resource] = true
			reviewed[resource] = reviewed[resource] || decided
		}
	}
	stale := map[string]bool{}
	for _, status := range b.Caches.Status() {
		name := status.Resource.String()
		lost := status.Stale && time.Since(status.LastContact) >= staleTime
		if lost && fresh[name] || unreviewed && reviewed[name] {
			stale[name] = true
		}
	}
	return stale
}

// excess returns the number of streams that a replica has above 125 % of its share and
// spareStreams.
func excess(own int, peers []Load) int {
	all := float64(own)
	for _, peer := range peers {
		all += float64(peer.Streams)
	}
	share := all / float64(len(peers)+1)
	return max(0, own-int(share*5/4)-spareStreams)
}
