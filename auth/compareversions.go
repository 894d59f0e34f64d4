package auth

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// After etcd has been restored from a backup, the API server accepts a watch from a version that it
// has not reached yet, and sends nothing. Therefore a follower compares its version with the API
// server's when it has opened a watch, and every compareInterval while the watch is open: a list
// without a version is not older than anything that an API server has sent before. If the API server
// is at an older version, the follower relists.

// compareInterval is how often the version is compared while a watch is open. An open watch can
// survive a restore of etcd.
const compareInterval = time.Minute

// errRolledBack makes the Reflector relist.
var errRolledBack = apierrors.NewResourceExpired("the API server is at an older version than the watch")

// compare compares versions until the context is done.
func (w *followedWatch) compare(ctx context.Context) {
	backoff := followBackoff()
	for {
		pause := compareInterval
		if w.follower.compareVersions(ctx, w) {
			backoff = followBackoff()
		} else {
			pause = backoff.Step()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// compareVersions compares the version of the store with the API server's. It reports whether the
// API server has responded. A watch that is not newer than the API server keeps the store up to date
// from now on. A newer watch is ended.
func (f *follower) compareVersions(ctx context.Context, w *followedWatch) (responded bool) {
	stored := f.storedVersion()
	if isAnyVersion(stored) {
		return true
	}
	current, err := f.currentVersion(ctx)
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case older(current, stored):
		f.rolledBack = true
		w.Interface.Stop()
	case w != f.initial: // the initial watch follows from the next call of synced
		f.beginLocked(w)
	}
	return true
}

func (f *follower) currentVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := f.list(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	listMeta, err := meta.ListAccessor(list)
	if err != nil {
		return "", err
	}
	return listMeta.GetResourceVersion(), nil
}

func (f *follower) storedVersion() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// UpdateResourceVersion implements [cache.ResourceVersionUpdater] for the stores of followers. The
// Reflector calls it for each event, and for bookmarks.
func (f *follower) UpdateResourceVersion(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
}

func (f *follower) isRolledBack() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rolledBack
}

// reachable returns options without a version that the API server has not reached, so that they
// request the current version.
func (f *follower) reachable(options metav1.ListOptions) metav1.ListOptions {
	if f.isRolledBack() {
		options.ResourceVersion = ""
	}
	return options
}

// isAnyVersion reports whether a watch from the version begins with all objects.
func isAnyVersion(version string) bool { return version == "" || version == "0" }

// older reports whether version a is older than b. Versions that cannot be compared count as equal.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
