package informerhub

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

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

// beginnings counts concurrently.
type beginnings struct{ snapshots, resumed, latestStates, resets atomic.Int64 }

func (b *beginnings) numbers() Beginnings {
	return Beginnings{b.snapshots.Load(), b.resumed.Load(), b.latestStates.Load(), b.resets.Load()}
}

// takeover is the way in which a cache takes over a snapshot of the API server.
type takeover int

const (
	filled    takeover = iota // by the first snapshot
	relisted                  // as changes since the state before it
	restarted                 // as a new history: each watcher gets a RESET
)

// logStart logs the start of a cache.
func (c *Cache) logStart() { c.log(slog.LevelInfo, "cache started") }

// logEnd logs the end of a cache, and why it has ended.
func (c *Cache) logEnd(reason string) { c.log(slog.LevelInfo, "cache ended", "reason", reason) }

// logSnapshot logs a snapshot of the API server.
func (c *Cache) logSnapshot(taken takeover, objects, changes int) {
	switch taken {
	case filled:
		c.log(slog.LevelInfo, "cache filled", "objects", objects, "seconds", time.Since(c.started).Round(time.Millisecond).Seconds())
	case relisted:
		c.log(slog.LevelInfo, "cache relisted", "objects", objects, "changes", changes)
	case restarted:
		c.log(slog.LevelWarn, "cache begins a new history: all its watchers get a RESET", "objects", objects)
	}
}

// slowListInterval is the time after which a list that has not ended is logged, and logged again.
const slowListInterval = 30 * time.Second

// followList logs the list that began at a time as long as it has not ended.
func (c *Cache) followList(began time.Time) {
	time.AfterFunc(slowListInterval, func() {
		failure, isRunning := c.list(began)
		if !isRunning {
			return
		}
		attributes := []any{"seconds", time.Since(began).Round(time.Second).Seconds()}
		if failure != nil {
			attributes = append(attributes, "error", failure)
		}
		c.log(slog.LevelWarn, "the list of the API server takes long, or fails", attributes...)
		c.followList(began)
	})
}

// list returns whether the list that began at a time has not ended, and the error of the last attempt;
// nil if it has not failed.
func (c *Cache) list(began time.Time) (failure error, isRunning bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.failure, c.state.ended == nil && c.following.relisting.Equal(began)
}

// log logs about a cache. Of a private cache, which serves a single stream, everything is for debugging.
func (c *Cache) log(level slog.Level, message string, attributes ...any) {
	if c.isPrivate {
		level = slog.LevelDebug
	}
	slog.Log(context.Background(), level, message, append([]any{"resource", c.resource.String()}, attributes...)...)
}
