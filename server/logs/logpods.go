package logs

import (
	"context"
	"log/slog"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
	"github.com/kubeconnect/kubeconnect/server/loglines"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/streams"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// selectPods sends the selected pods, and with follow their changes, until ctx is done.
func (p *Pods) selectPods(ctx context.Context, params logLinesParams, changes chan<- loglines.Change) error {
	to := &podChanges{changes: changes, known: map[podKey]string{}, params: params, hub: p.hub}
	switch {
	case params.options.Follow:
		return p.watchPods(ctx, params, to)
	case params.Name != "":
		return p.getPod(ctx, params, to)
	}
	return p.listPods(ctx, params, to)
}

// getPod sends one pod.
func (p *Pods) getPod(ctx context.Context, params logLinesParams, to *podChanges) error {
	got, err := target.OnResource(ctx, p.targets, params.Resource, func(resource informerhub.Resource) (reads.GetResult, error) {
		return p.reads.Objects.Read(ctx, resource, reads.GetParams{Namespace: params.Namespace, Name: params.Name, MinVersion: params.MinVersion})
	})
	if err != nil {
		return err
	}
	return to.sendAll(ctx, loglines.Notice{CoversAll: true}, []*informerhub.Object{got.Object})
}

// listPods sends all selected pods.
func (p *Pods) listPods(ctx context.Context, params logLinesParams, to *podChanges) error {
	list, err := p.reads.Snapshots.Take(ctx, reads.SnapshotParams{Selection: params.Selection})
	if err != nil {
		return err
	}
	namespaces, warnings := list.Coverage()
	return to.sendAll(ctx, loglines.Notice{Warnings: warnings, Namespaces: namespaces, CoversAll: len(namespaces) == 0}, list.Snapshot.Objects)
}

// watchPods follows the selected pods by a watch whose events are not sent to the client.
func (p *Pods) watchPods(ctx context.Context, params logLinesParams, to *podChanges) error {
	sender := p.watches.NewSender(ctx, params.WatchParams, nil, to.outlet)
	sender.Messages = true
	sender.Memory.Queue = budget.NewMessageQueue() // the client may read slowly, without delaying other streams
	sender.Metrics = nil                           // no client receives the events
	return p.watches.Run(ctx, &streams.WatchPart{Watches: p.watches, Params: params.WatchParams, Sender: sender})
}

type podKey struct{ namespace, name string }

// podChanges converts selected pods to changes of logs.
type podChanges struct {
	changes chan<- loglines.Change
	params  logLinesParams
	hub     *informerhub.Hub

	known  map[podKey]string   // the UIDs of the selected pods
	listed map[podKey]struct{} // the pods of the snapshot that is being received; nil if there is none
}

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
		text, err := pod.AppendMaskedJSON(nil, c.params.Fields)
		if err != nil {
			slog.Warn("a pod cannot be read", "namespace", pod.Namespace(), "pod", pod.Name(), "error", err)
			continue
		}
		if err := c.sendPod(ctx, pod.Namespace(), pod.Name(), pod.UID(), text); err != nil {
			return err
		}
	}
	return c.send(ctx, loglines.Change{Synced: true})
}

func (c *podChanges) sendPod(ctx context.Context, namespace, name, uid string, text []byte) error {
	pod, err := loglines.ReadPod(namespace, name, uid, text)
	if err != nil {
		slog.Warn("a pod cannot be read", "namespace", namespace, "pod", name, "error", err)
		return nil
	}
	return c.send(ctx, loglines.Change{Pod: pod})
}

// outlet is the outlet of the watch of the pods. There is no lease while the watch waits, when no pod
// is sent.
func (c *podChanges) outlet(ctx context.Context, under *access.Lease, _ streamlife.Guard, response *kubeconnectv1.WatchResponse) error {
	if response.GetResource() != nil || len(response.GetWarnings()) > 0 {
		namespaces := response.GetNamespaces()
		notice := loglines.Notice{Warnings: response.GetWarnings(), Namespaces: namespaces, CoversAll: response.GetResource() != nil && len(namespaces) == 0}
		if err := c.send(ctx, loglines.Change{Notice: &notice}); err != nil {
			return err
		}
	}
	for _, event := range response.GetEvents() {
		if err := c.apply(ctx, under, event); err != nil {
			return err
		}
	}
	return nil
}

func (c *podChanges) apply(ctx context.Context, under *access.Lease, event *kubeconnectv1.Event) error {
	pod := event.GetObject()
	key := podKey{pod.GetNamespace(), pod.GetName()}
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		c.listed = map[podKey]struct{}{}
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		return c.sync(ctx, under)
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
		c.known[key] = pod.GetUid()
		if c.listed != nil {
			c.listed[key] = struct{}{}
		}
		return c.sendPod(ctx, pod.GetNamespace(), pod.GetName(), pod.GetUid(), pod.GetJson())
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		delete(c.listed, key)
		return c.lose(ctx, under, key)
	}
	return nil
}

// sync ends a snapshot: known pods that it does not contain are gone.
func (c *podChanges) sync(ctx context.Context, under *access.Lease) error {
	for key := range c.known {
		if _, ok := c.listed[key]; ok {
			continue
		}
		if err := c.lose(ctx, under, key); err != nil {
			return err
		}
	}
	c.listed = nil
	return c.send(ctx, loglines.Change{Synced: true})
}

// lose sends that a pod is no longer selected. Whether it still exists is not read outside the scope
// of the lease: the caller must not learn it.
func (c *podChanges) lose(ctx context.Context, under *access.Lease, key podKey) error {
	uid, ok := c.known[key]
	if !ok {
		return nil
	}
	delete(c.known, key)
	reason := loglines.PodDeleted
	if !under.Scope.Contains(key.namespace) || c.exists(ctx, key, uid) {
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
	cache, err := c.hub.Cache(ctx, resource)
	if err != nil {
		return false
	}
	pod, err := cache.Get(key.namespace, key.name)
	return err == nil && pod.UID() == uid
}
