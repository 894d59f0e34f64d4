package informerhub

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// A CRD determines the API server's responses for its objects, and no object changes when the CRD
// does: a schema with another default, or another conversion, results in another content of an
// object at the same resource version. A CRD that was deleted and recreated can have another scope
// or kind under the same name. So the metadata of CRDs is watched while caches of custom resources
// run. A new UID shows a recreation, a new generation a change of the spec.
//
// If the service has no permission to watch CRDs, the hashes of the OpenAPI documents and discovery
// are compared at an interval. They do not show a change of the conversion, nor a CRD that was
// recreated unchanged. The objects of the latter are relisted, because their watch ends.

const (
	// definitionsTimeout bounds a cache's wait for the definitions before its first list. The wait
	// ensures that no change falls between the two.
	definitionsTimeout = 2 * time.Second
	// definitionsInterval is the interval at which hashes are compared if definitions cannot be
	// watched. definitionsRetry is the time after which the watch is retried.
	definitionsInterval = 30 * time.Second
	definitionsRetry    = 10 * definitionsInterval
	// verifyAfter is the time after which discovery is compared with the caches that began together
	// with the watch of definitions. Discovery can be late for a CRD that was just created.
	verifyAfter = 5 * time.Second
)

// checkPauses are the pauses before the checks that follow a change of a definition. Each API
// server notices the change at another time, and returns the old content until then.
var checkPauses = []time.Duration{0, time.Second, 4 * time.Second}

// definitions relists the caches of custom resources when their definitions change, and ends those
// whose definition was recreated. Its methods are safe for concurrent use.
type definitions struct {
	resolver *discovery.Resolver
	schemas  *discovery.Schemas
	client   func(Resource) (rest.Interface, error)
	running  sync.WaitGroup // the sessions

	warnServices sync.Once // for the warning that APIServices cannot be watched

	mu      sync.Mutex // guards the fields below; no other lock is taken while it is held
	members map[*upstream]context.CancelFunc
	session *definitionsSession // nil while there are no members
	warned  bool
}

func newDefinitions(resolver *discovery.Resolver, schemas *discovery.Schemas, client func(Resource) (rest.Interface, error)) *definitions {
	return &definitions{
		resolver: resolver, schemas: schemas, client: client, members: make(map[*upstream]context.CancelFunc),
	}
}

// join makes a cache's upstream follow the definition of its resource until the returned function
// is called. stop ends the upstream. The first member starts the watch of the definitions, and the
// last one ends it. join blocks until the definitions are known, for at most definitionsTimeout. A
// built-in resource has no definition.
func (d *definitions) join(ctx context.Context, u *upstream, stop context.CancelFunc) (leave func()) {
	if d == nil || u.cache.resource.BuiltIn() {
		return func() {}
	}
	session := d.enter(u, stop)
	timeout := time.NewTimer(definitionsTimeout)
	defer timeout.Stop()
	select {
	case <-session.settled:
	case <-timeout.C:
		session.failed()
	case <-ctx.Done():
	}
	return func() { d.leave(u) }
}

//nolint:contextcheck // the watch outlives the cache that begins it
func (d *definitions) enter(u *upstream, stop context.CancelFunc) *definitionsSession {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.members[u] = stop
	if d.session == nil {
		ctx, end := context.WithCancel(context.Background())
		d.session = newDefinitionsSession(d, end)
		d.running.Add(1)
		go d.session.run(ctx)
	}
	return d.session
}

func (d *definitions) leave(u *upstream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.members, u)
	if len(d.members) == 0 {
		d.session.end()
		d.session = nil
	}
}

// definitionOf returns the name of the CRD that may define a resource.
func definitionOf(resource Resource) string { return resource.GroupResource().String() }

// upstreamsOf returns the upstreams of the resource that a CRD defines, in all its versions;
// without a name, all upstreams.
func (d *definitions) upstreamsOf(name string) []*upstream {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(d.members)), func(u *upstream) bool {
		return name != "" && definitionOf(u.cache.resource) != name
	})
}

// endUnserved ends an upstream, and its cache with a discovery.ResourceGoneError.
func (d *definitions) endUnserved(u *upstream) {
	u.endUnserved()
	d.mu.Lock()
	defer d.mu.Unlock()
	if stop := d.members[u]; stop != nil {
		stop()
	}
}

// isFirstWarning reports whether it is called for the first time. It limits the warning that
// definitions cannot be watched to one.
func (d *definitions) isFirstWarning() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := !d.warned
	d.warned = true
	return first
}

// check reads discovery, ends the caches whose resources are no longer served as cached, and
// relists those for which relist returns true. With lost, it ends all of them.
func (d *definitions) check(ctx context.Context, upstreams []*upstream, lost bool, relist func(*upstream) bool) {
	if len(upstreams) == 0 {
		return
	}
	fresh, unknown := d.resolver.Fresh(ctx)
	for _, u := range upstreams {
		served := true
		if unknown == nil {
			if stillServed, err := fresh.Serves(u.cache.resource); err == nil {
				served = stillServed
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case lost || !served:
			d.endUnserved(u)
		case relist(u):
			u.relist()
		}
	}
}

// definition is the known state of one CRD.
type definition struct {
	uid        string
	generation int64
}

// definitionsSession follows the definitions as long as there are members. It is the store of a
// Reflector.
type definitionsSession struct {
	definitions *definitions
	end         context.CancelFunc
	settled     chan struct{} // closed when the definitions are known or could not be read
	settle      func()
	wake        chan struct{} // has an element when changed or regrouped is not empty

	// urls are those of the OpenAPI documents, with hashes of their content. Owned by poll.
	urls map[schema.GroupVersion]string

	stateMu sync.Mutex            // guards the fields below; no other lock is taken while it is held
	synced  bool                  // known has been complete
	late    bool                  // caches have begun before synced
	known   map[string]definition // by the CRD's name, also of deleted ones
	changed map[string]bool       // by the CRD's name: whether it was recreated
	// regrouped are the groups whose APIServices have changed; "" is all of them.
	regrouped map[string]bool
}

func newDefinitionsSession(definitions *definitions, end context.CancelFunc) *definitionsSession {
	s := &definitionsSession{
		definitions: definitions, end: end, settled: make(chan struct{}), wake: make(chan struct{}, 1),
		urls: make(map[schema.GroupVersion]string), known: make(map[string]definition), changed: make(map[string]bool),
		regrouped: make(map[string]bool),
	}
	s.settle = sync.OnceFunc(func() { close(s.settled) })
	return s
}

// run follows the definitions until the context ends.
func (s *definitionsSession) run(ctx context.Context) {
	defer s.definitions.running.Done()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { s.follow(ctx) })
	tasks.Go(func() { s.followServices(ctx) })
	tasks.Go(func() { s.verify(ctx) })
	for {
		select {
		case <-s.wake:
			for name, recreated := range s.takeChanged() {
				tasks.Go(func() { s.react(ctx, name, recreated) })
			}
			for group := range s.takeRegrouped() {
				tasks.Go(func() { s.compare(ctx, group) })
			}
		case <-ctx.Done():
			return
		}
	}
}

// verify ends the caches that have begun with an outdated result of discovery.
func (s *definitionsSession) verify(ctx context.Context) {
	if pause(ctx, verifyAfter) {
		s.definitions.check(ctx, s.definitions.upstreamsOf(""), false, func(*upstream) bool { return false })
	}
}

// react checks the caches of a resource several times after its definition has changed.
func (s *definitionsSession) react(ctx context.Context, name string, recreated bool) {
	for _, wait := range checkPauses {
		if !pause(ctx, wait) {
			return
		}
		s.definitions.check(ctx, s.definitions.upstreamsOf(name), recreated, func(*upstream) bool { return true })
		recreated = false // caches that begin from now on use the new definition
	}
}

// compare ends the caches of a group, or of all groups if group is empty, whose resources discovery
// no longer serves as cached. It does so several times.
func (s *definitionsSession) compare(ctx context.Context, group string) {
	for _, wait := range checkPauses {
		if !pause(ctx, wait) {
			return
		}
		members := slices.DeleteFunc(s.definitions.upstreamsOf(""), func(u *upstream) bool {
			return group != "" && u.cache.resource.Group != group
		})
		s.definitions.check(ctx, members, false, func(*upstream) bool { return false })
	}
}

// pause waits, and reports whether the context is still active.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// follow watches the definitions. While the service has no permission for that, it compares hashes.
func (s *definitionsSession) follow(ctx context.Context) {
	for ctx.Err() == nil {
		refusal := s.watch(ctx)
		s.settle()
		if ctx.Err() == nil && s.definitions.isFirstWarning() {
			slog.Warn("the definitions of custom resources cannot be watched; "+
				"a change of a schema is noticed later, and one of a conversion is not noticed", "error", refusal)
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < definitionsRetry; {
			s.poll(ctx)
			pause(ctx, definitionsInterval)
		}
	}
}

// watch watches the definitions until the context ends or the API server denies it.
func (s *definitionsSession) watch(ctx context.Context) error {
	return s.watchMetadata(ctx, discovery.CustomResourceDefinitions, s, s.failed)
}

// poll compares the hashes of the OpenAPI documents of the caches' resources with the previous
// ones, and discovery with the caches.
func (s *definitionsSession) poll(ctx context.Context) {
	urls, err := s.definitions.schemas.DocumentURLs(ctx)
	if err != nil {
		return // the next request may succeed
	}
	changed := make(map[schema.GroupVersion]bool)
	upstreams := s.definitions.upstreamsOf("")
	for _, u := range upstreams {
		groupVersion := u.cache.resource.GroupVersion()
		if url, ok := urls[groupVersion]; ok {
			before, known := s.urls[groupVersion]
			changed[groupVersion] = changed[groupVersion] || known && before != url
			s.urls[groupVersion] = url
		}
	}
	s.definitions.check(ctx, upstreams, false, func(u *upstream) bool { return changed[u.cache.resource.GroupVersion()] })
}

// takeChanged returns the definitions that have changed since the last call.
func (s *definitionsSession) takeChanged() map[string]bool {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	changed := s.changed
	s.changed = make(map[string]bool)
	return changed
}

// takeRegrouped returns the groups whose APIServices have changed since the last call.
func (s *definitionsSession) takeRegrouped() map[string]bool {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	regrouped := s.regrouped
	s.regrouped = make(map[string]bool)
	return regrouped
}

// recordRegrouped records that an APIService of a group has changed.
func (s *definitionsSession) recordRegrouped(group string) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.regrouped[group] = true
	signal(s.wake)
}

// Add implements cache.ReflectorStore.
func (s *definitionsSession) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *definitionsSession) Update(object any) error {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.recordLocked(object.(*Object))
	return nil
}

// Delete implements cache.ReflectorStore. The definition stays known: a definition of the same name
// that is created later has another UID.
func (s *definitionsSession) Delete(any) error { return nil }

// Resync implements cache.ReflectorStore. It does nothing.
func (s *definitionsSession) Resync() error { return nil }

// Replace implements cache.ReflectorStore.
func (s *definitionsSession) Replace(items []any, _ string) error {
	upstreams := s.definitions.upstreamsOf("")
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	for _, item := range items {
		s.recordLocked(item.(*Object))
	}
	if !s.synced && s.late {
		for _, u := range upstreams {
			s.changeLocked(definitionOf(u.cache.resource), false)
		}
	}
	s.synced = true
	s.settle()
	return nil
}

// failed records that the definitions could not be read in time. Caches begin without them, and are
// relisted once they are known.
func (s *definitionsSession) failed() {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.late = true
	s.settle()
}

func (s *definitionsSession) recordLocked(object *Object) {
	now, name := readDefinition(object), strings.Clone(object.Name()) // the object is not retained
	before, known := s.known[name]
	s.known[name] = now
	switch {
	case known && before != now:
		s.changeLocked(name, before.uid != now.uid)
	case !known && s.synced:
		s.changeLocked(name, false) // a cache may have begun while it did not exist
	}
}

func (s *definitionsSession) changeLocked(name string, recreated bool) {
	s.changed[name] = s.changed[name] || recreated
	signal(s.wake)
}

func readDefinition(object *Object) definition {
	return definition{uid: strings.Clone(object.UID()), generation: object.Generation()}
}

// followServices compares the caches of custom resources with discovery whenever an APIService
// changes, until the context ends. A cache whose resource has become part of an aggregated API
// ends. If APIServices cannot be watched, the caches are compared at an interval.
func (s *definitionsSession) followServices(ctx context.Context) {
	for ctx.Err() == nil {
		refusal := s.watchServices(ctx)
		if apierrors.IsForbidden(refusal) {
			s.definitions.warnServices.Do(func() {
				slog.Warn("APIServices cannot be watched; "+
					"a group that moves to another server is noticed after half a minute", "error", refusal)
			})
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < definitionsRetry; {
			if !apierrors.IsNotFound(refusal) {
				s.definitions.check(ctx, s.definitions.upstreamsOf(""), false, func(*upstream) bool { return false })
			}
			pause(ctx, definitionsInterval)
		}
	}
}

// watchServices watches APIServices until the context ends or the API server denies it.
func (s *definitionsSession) watchServices(ctx context.Context) error {
	return s.watchMetadata(ctx, discovery.APIServices, &serviceStore{session: s}, func() {})
}

// serviceStore is the store of a Reflector of APIServices. It stores nothing.
type serviceStore struct {
	session *definitionsSession
	listed  sync.Once
}

// Add implements cache.ReflectorStore.
func (s *serviceStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *serviceStore) Update(object any) error {
	// An APIService is named VERSION.GROUP.
	_, group, _ := strings.Cut(object.(*Object).Name(), ".")
	s.session.recordRegrouped(group)
	return nil
}

// Delete implements cache.ReflectorStore. A resource that is no longer aggregated is cached once it
// is discovered again.
func (s *serviceStore) Delete(any) error { return nil }

// Resync implements cache.ReflectorStore. It does nothing.
func (s *serviceStore) Resync() error { return nil }

// Replace implements cache.ReflectorStore. The first list needs no comparison, because its
// APIServices existed when the caches were compared with discovery: see verify.
func (s *serviceStore) Replace([]any, string) error {
	first := false
	s.listed.Do(func() { first = true })
	if !first {
		s.session.recordRegrouped("")
	}
	return nil
}

// watchMetadata runs a Reflector that fills a store with the metadata of a resource's objects,
// until the context ends or the API server denies it, which is the error. It calls failed when a
// list has failed.
func (s *definitionsSession) watchMetadata(
	ctx context.Context, resource Resource, store cache.ReflectorStore, failed func(),
) error {
	client, err := s.definitions.client(resource)
	if err != nil {
		return err
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	lists := metadataOf(client, resource, refuse, failed)
	reflector := cache.NewReflectorWithOptions(lists, &Object{}, store, cache.ReflectorOptions{
		Name: "informerhub", TypeDescription: resource.String(), Backoff: backoff(),
	})
	reflector.RunWithContext(ctx)
	return context.Cause(ctx)
}

// listThenWatch makes a Reflector list before it watches. A list shows at once whether the service
// has the permission, and every version of the API server requires the permission to list.
type listThenWatch struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported disables watch-list in the Reflector.
func (*listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }

// metadataOf lists and watches the metadata of a resource's objects. It calls refuse when the
// service has no permission, and failed when a list has failed.
func metadataOf(
	client rest.Interface, resource Resource, refuse context.CancelCauseFunc, failed func(),
) *listThenWatch {
	recordRefusal := func(err error) error {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			refuse(err)
		}
		return err
	}
	return &listThenWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := metadataRequest(client, resource, object.PartialListKind, options).Do(ctx).Get()
			if err != nil {
				failed()
			}
			return list, recordRefusal(err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			events, err := metadataRequest(client, resource, object.PartialKind, options).Watch(ctx)
			return events, recordRefusal(err)
		},
	}}
}

func metadataRequest(client rest.Interface, resource Resource, kind string, options metav1.ListOptions) *rest.Request {
	return object.RequestMetadata(client.Get(), resource, kind).
		Resource(resource.Name).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}
