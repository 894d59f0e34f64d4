package logs

import (
	"context"
	"log/slog"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/loglines"
)

type podKey struct{ namespace, name string }

// podChanges converts selected pods to changes of logs. It is owned by the goroutine that selects the pods. The channel has no buffer:
// a watch that is faster than loglines waits.
type podChanges struct {
	// Set once.
	changes chan<- loglines.Change
	params  logLinesParams
	hub     *informerhub.Hub

	// What loglines knows of the selection.
	known  map[podKey]string   // the UIDs of the selected pods
	listed map[podKey]struct{} // the pods of the snapshot that is being received; nil if there is none
}

// send sends a change, and blocks until loglines receives it.
func (c *podChanges) send(ctx context.Context, change loglines.Change) error {
	select {
	case c.changes <- change:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendAll sends all pods of a selection.
func (c *podChanges) sendAll(ctx context.Context, notice loglines.Notice, pods []*informerhub.Object) error {
	if err := c.send(ctx, loglines.Change{Notice: &notice}); err != nil {
		return err
	}
	for _, pod := range pods {
		if err := c.sendPod(ctx, pod.Masked(c.params.Fields)); err != nil {
			return err
		}
	}
	return c.send(ctx, loglines.Change{Synced: true})
}

// sendPod sends a pod, of which only the fields that loglines needs are read. A pod that cannot be read is skipped: the other logs
// of the stream are worth more than an error.
func (c *podChanges) sendPod(ctx context.Context, object *informerhub.Object) error {
	text, err := object.JSON()
	if err == nil {
		var pod loglines.Pod
		if pod, err = loglines.ReadPod(object.Namespace(), object.Name(), object.UID(), text); err == nil {
			return c.send(ctx, loglines.Change{Pod: pod})
		}
	}
	slog.Warn("a pod cannot be read", "namespace", object.Namespace(), "pod", object.Name(), "error", err)
	return nil
}

// Notify implements streams.Receiver.
func (c *podChanges) Notify(ctx context.Context, warnings, namespaces []string, coversAll bool) error {
	return c.send(ctx, loglines.Change{Notice: &loglines.Notice{Warnings: warnings, Namespaces: namespaces, CoversAll: coversAll}})
}

// Receive implements streams.Receiver.
func (c *podChanges) Receive(ctx context.Context, scope auth.Namespaces, event informerhub.Event) error {
	switch event.Type {
	case informerhub.Reset:
		// The pods are sent again. loglines keeps the logs that it has open: only sync knows which pods are gone.
		c.listed = map[podKey]struct{}{}
	case informerhub.Synced:
		return c.sync(ctx, scope)
	case informerhub.Added, informerhub.Modified:
		key := podKey{event.Object.Namespace(), event.Object.Name()}
		c.known[key] = event.Object.UID()
		if c.listed != nil {
			c.listed[key] = struct{}{}
		}
		return c.sendPod(ctx, event.Object)
	case informerhub.Deleted:
		key := podKey{event.Object.Namespace(), event.Object.Name()}
		delete(c.listed, key)
		return c.lose(ctx, scope, key)
	}
	return nil
}

// sync ends a snapshot: known pods that it does not contain are gone. It was complete in the caller's scope only, so a pod can be
// missing because the caller may no longer read it; see lose.
func (c *podChanges) sync(ctx context.Context, scope auth.Namespaces) error {
	for key := range c.known {
		if _, ok := c.listed[key]; ok {
			continue
		}
		if err := c.lose(ctx, scope, key); err != nil {
			return err
		}
	}
	c.listed = nil
	return c.send(ctx, loglines.Change{Synced: true})
}

// lose sends that a pod is no longer selected. Whether it still exists is not read outside the scope
// that the caller can read: the caller must not learn it.
func (c *podChanges) lose(ctx context.Context, scope auth.Namespaces, key podKey) error {
	uid, ok := c.known[key]
	if !ok {
		return nil
	}
	delete(c.known, key)
	reason := loglines.PodDeleted
	if !scope.Contains(key.namespace) || c.exists(ctx, key, uid) {
		reason = loglines.PodNotSelected
	}
	return c.send(ctx, loglines.Change{Pod: loglines.Pod{Namespace: key.namespace, Name: key.name, UID: uid}, Gone: reason})
}

// exists reports whether a pod that has left the selection still exists. If pods are not cached, it
// is not known.
func (c *podChanges) exists(ctx context.Context, key podKey, uid string) bool {
	resource, err := c.hub.Resolver().Resolve(ctx, c.params.Resource)
	if err != nil || !resource.Cacheable() {
		return false
	}
	cache, err := c.hub.Cache(ctx, resource, key.namespace)
	if err != nil {
		return false
	}
	pod, err := cache.Get(key.namespace, key.name)
	return err == nil && pod.UID() == uid
}
