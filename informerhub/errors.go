package informerhub

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// SnapshotError is the error for a cache without a snapshot, because the API server does not send
// one to the service. It does not depend on the caller: another replica, or a later call, may
// succeed.
type SnapshotError struct {
	Resource Resource
	Err      error // the last error of the API server, or errNoSnapshot
	// RetryAfter is the time for which the API server has asked the service to wait; 0 if it has not.
	RetryAfter time.Duration
}

func (e *SnapshotError) Error() string {
	if isDenied(e.Err) {
		return fmt.Sprintf("the service is not allowed to list %s: its operator can grant it, by the commands that kubeconnect check prints",
			e.Resource.GroupResource())
	}
	when := ""
	if e.RetryAfter > 0 {
		when = fmt.Sprintf(" in %d s", e.RetryAfterSeconds())
	}
	return fmt.Sprintf("the service has no snapshot of %s yet: %v; "+
		"try again%s, and if this lasts ask the operator of the service",
		e.Resource.GroupResource(), e.Err, when)
}

// RetryAfterSeconds returns RetryAfter in whole seconds.
func (e *SnapshotError) RetryAfterSeconds() int32 { return int32(math.Ceil(e.RetryAfter.Seconds())) }

func (e *SnapshotError) Unwrap() error { return e.Err }

// ErrSeveralNamespaces is the error of [Cache.Newest] for a cache of several namespaces, which have no common version.
var ErrSeveralNamespaces = errors.New("the cache has several namespaces, which have no common version")

// ScopeError is the error for a namespace that the hub does not cache, or no longer.
type ScopeError struct {
	Resource  Resource
	Namespace string // empty for the resource as a whole
}

func (e *ScopeError) Error() string {
	if e.Namespace == "" {
		return fmt.Sprintf("the service does not cache %s as a whole any more: try again", e.Resource.GroupResource())
	}
	return fmt.Sprintf("the service does not cache %s in the namespace %q any more: try again", e.Resource.GroupResource(), e.Namespace)
}

// errNoSnapshot is the error of a slow API server that has not failed.
var errNoSnapshot = errors.New("the API server has not sent all of it")

// ErrClosed is the error of methods that are called after Close.
var ErrClosed = errors.New("the hub has been closed")

// ErrForgotten is the error for a version whose state the cache can no longer reconstruct.
var ErrForgotten = errors.New("the cache does not reach back to this version")

// ErrUndone is the error for a version of a history that has been undone.
var ErrUndone = errors.New("this version is of a history that has been undone")

// ErrForeignSelection is the error for a selection that was made by another cache. Each cache has the
// indexes of its own selections.
var ErrForeignSelection = errors.New("the selection was made by another cache")

// ErrInterrupted is the error of an interrupted [Watcher.NextUntil].
var ErrInterrupted = errors.New("the watcher was interrupted")

var errNoHistory = errors.New("the cache has no API server to query")

var errHistoryEnded = errors.New("the API server ended its history early")

// errHistoryExpired is the error for a version that the API server no longer has.
var errHistoryExpired = errors.New("the API server's history does not go back that far")

// errHistorySilent is the error of a request during which the API server sent nothing that ends
// the history.
var errHistorySilent = errors.New("the API server has not reported how far its history reaches")

// errUncacheable is the error for a resource that must not be cached.
var errUncacheable = errors.New("the resource is not cached")

var errNoProgress = errors.New("the API server has not reported its progress")

// errNoBookmarks is the error of a watch without a bookmark, although the API server was reachable.
var errNoBookmarks = errors.New("the API server sends no bookmarks of the resource")
