package observe

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
)

const (
	// maxUsageCallers bounds the callers, and the networks of rejected calls, whose use is remembered.
	// Above it, one that has not called for long is forgotten: the longest of usageSample at random.
	maxUsageCallers = 2_000
	usageSample     = 16
	// loadPeriod is the time over which the recent traffic of a caller is averaged.
	loadPeriod = time.Minute
)

// CallerUsage is what one caller uses.
type CallerUsage struct {
	Caller string `json:"caller,omitempty"` // the user name
	// Network is the address of rejected calls whose caller is not known, or its /64 of IPv6.
	Network     string `json:"network,omitempty"`
	OpenCalls   int    `json:"openCalls"`
	OpenStreams int    `json:"openStreams"`
	// KeptBytes is the memory that is kept for open streams.
	KeptBytes int `json:"keptBytes"`
	// PerMinute is the traffic of about the last minute, and Total that since the caller was first seen.
	PerMinute call.Traffic `json:"perMinute"`
	Total     call.Traffic `json:"total"`
}

// Usage is who uses the service. Its methods are safe for concurrent use.
type Usage struct {
	mu       sync.Mutex          // guards the fields below
	open     map[*call.Call]bool // whether it is a stream
	callers  map[string]*callerUsage
	networks map[string]*callerUsage // of calls that were rejected before their caller was known
	kept     *ledger.Ledger          // nil: nothing is kept
}

// NewUsage returns an empty Usage.
func NewUsage() *Usage {
	return &Usage{open: map[*call.Call]bool{}, callers: map[string]*callerUsage{}, networks: map[string]*callerUsage{}}
}

// callerUsage is the traffic of one caller.
type callerUsage struct {
	seen atomic.Int64 // when a call last began or ended, in Unix nanoseconds

	mu            sync.Mutex // guards the fields below
	total, recent call.Traffic
	at            time.Time // of recent, which decreases with the time since then
}

func (u *callerUsage) add(used call.Traffic) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.decayLocked(time.Now())
	u.recent.Add(used, 1)
	u.total.Add(used, 1)
}

// decayLocked updates the recent traffic, of which each part counts less the longer ago it was.
func (u *callerUsage) decayLocked(now time.Time) {
	left := math.Exp(-float64(now.Sub(u.at)) / float64(loadPeriod))
	var recent call.Traffic
	recent.Add(u.recent, left)
	u.recent, u.at = recent, now
}

func (u *callerUsage) loads() (recent, total call.Traffic) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.decayLocked(time.Now())
	return u.recent, u.total
}

// Begin adds a call whose caller and procedure are known.
func (u *Usage) Begin(c *call.Call, isStream bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[c] = isStream
	c.Record.AddUse = ofLocked(u.callers, c.Record.User()).add
}

// End removes a call that has ended, and counts it.
func (u *Usage) End(c *call.Call) {
	r := &c.Record
	of, isStream := u.closed(c)
	if of == nil {
		return
	}
	used := call.Traffic{Calls: 1}
	if r.Err != nil && !IsNormal(r.Err) {
		used.Failed = 1
	}
	if connect.CodeOf(r.Err) == connect.CodeResourceExhausted {
		used.Limited = 1
	}
	if !isStream && !r.IsRefused {
		used.Seconds = time.Since(r.Began).Seconds()
	}
	of.add(used)
}

// closed removes an open call. It returns the usage that the call counts for: that of its caller, or of
// its network if it was rejected before; nil if it counts for none, as requests of pages and health checks.
func (u *Usage) closed(c *call.Call) (of *callerUsage, isStream bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	isStream, isAdmitted := u.open[c]
	delete(u.open, c)
	switch {
	case isAdmitted:
		return ofLocked(u.callers, c.Record.User()), isStream
	case c.Record.IsRefused:
		return ofLocked(u.networks, c.Network), false
	}
	return nil, false
}

// ofLocked returns the usage of one of the callers or networks that are known.
func ofLocked(known map[string]*callerUsage, name string) *callerUsage {
	of := known[name]
	if of == nil {
		if len(known) >= maxUsageCallers {
			forgetOne(known)
		}
		of = &callerUsage{}
		known[name] = of
	}
	of.seen.Store(time.Now().UnixNano())
	return of
}

// forgetOne removes a caller that has not called for long.
func forgetOne(known map[string]*callerUsage) {
	oldest, seen, examined := "", int64(math.MaxInt64), 0
	for name, of := range known { // in random order
		if at := of.seen.Load(); at < seen {
			oldest, seen = name, at
		}
		if examined++; examined == usageSample {
			break
		}
	}
	delete(known, oldest)
}

// known returns the usage of all callers, and of all networks.
func (u *Usage) known() (callers, networks map[string]*callerUsage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.callers), maps.Clone(u.networks)
}

// Open returns the open calls, those first that have sent the most.
func (u *Usage) Open() []call.State {
	u.mu.Lock()
	open := maps.Clone(u.open)
	u.mu.Unlock()
	calls := make([]call.State, 0, len(open))
	for c, isStream := range open {
		calls = append(calls, c.State(isStream))
	}
	slices.SortFunc(calls, func(a, b call.State) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return calls
}

// unreadAfter is the time after which a client that does not read what is sent to it is counted.
const unreadAfter = time.Second

// NewUnread returns the metric of clients that do not read.
func NewUnread(u *Usage) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubeconnect_unread_calls",
		Help: "Open calls and streams whose client has not read for a second what is being sent to it. Changes wait for it meanwhile.",
	}, func() float64 { return float64(u.unread()) })
}

func (u *Usage) unread() (calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.open {
		if c.Record.Unread() >= unreadAfter {
			calls++
		}
	}
	return calls
}

// Callers returns what callers use, those first that have been sent the most bytes in the last minute.
func (u *Usage) Callers() []CallerUsage {
	known, networks := u.known()
	callers := make([]CallerUsage, 0, len(known)+len(networks))
	calls, streams := u.openByCaller()
	kept := u.keptByCaller()
	for name, of := range known {
		recent, total := of.loads()
		callers = append(callers, CallerUsage{
			Caller: name, OpenCalls: calls[name], OpenStreams: streams[name], KeptBytes: kept[name], PerMinute: recent, Total: total,
		})
	}
	for network, of := range networks {
		recent, total := of.loads()
		callers = append(callers, CallerUsage{Network: network, PerMinute: recent, Total: total})
	}
	slices.SortFunc(callers, func(a, b CallerUsage) int {
		return cmp.Or(cmp.Compare(b.PerMinute.Bytes, a.PerMinute.Bytes), cmp.Compare(b.Total.Calls, a.Total.Calls), cmp.Compare(a.Caller, b.Caller))
	})
	return callers
}

// CountKept makes the memory that is kept for callers a part of what they use.
func (u *Usage) CountKept(kept *ledger.Ledger) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = kept
}

// keptByCaller returns the bytes that are kept for each caller.
func (u *Usage) keptByCaller() map[string]int {
	u.mu.Lock()
	ledger := u.kept
	u.mu.Unlock()
	kept := map[string]int{}
	for key, bytes := range ledger.Kept() {
		kept[cmp.Or(call.UserOf(key), call.Everyone)] += bytes
	}
	return kept
}

// openByCaller returns the numbers of open calls and streams of each caller.
func (u *Usage) openByCaller() (calls, streams map[string]int) {
	calls, streams = map[string]int{}, map[string]int{}
	u.mu.Lock()
	defer u.mu.Unlock()
	for c, isStream := range u.open {
		if isStream {
			streams[c.Record.User()]++
		} else {
			calls[c.Record.User()]++
		}
	}
	return calls, streams
}
