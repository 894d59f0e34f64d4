package informerhub

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// A CRD decides what the API server answers for its objects, and no object changes when the
// CRD does: a schema with another default, or another conversion, makes another content of
// an object at the same resource version. A CRD that was deleted and created again can have
// another scope or kind under the same name. So the metadata of CRDs is watched while caches
// of custom resources run. The UID shows a recreation, the generation a change of the spec.
//
// Where the service may not watch CRDs, the hashes of the OpenAPI documents and discovery
// are compared at an interval. They do not show a change of the conversion, nor a CRD that
// was created again as it was; the objects of the latter are relisted, because their watch
// ends.

const (
	// definitionsPatience is how long a cache waits for the definitions before its first
	// list, so that no change falls between the two.
	definitionsPatience = 2 * time.Second
	// definitionsInterval is how often hashes are compared where definitions cannot be
	// watched, and definitionsRetry is after how long the watch is tried again.
	definitionsInterval = 30 * time.Second
	definitionsRetry    = 10 * definitionsInterval
	// verifyAfter is when discovery is compared with the caches that began together with
	// the watch of definitions: discovery can be late when a CRD has just been created.
	verifyAfter = 5 * time.Second
)

// checkPauses are the pauses before the checks that follow a change of a definition. Each
// API server notices the change at a time of its own, and answers the old content until
// then.
var checkPauses = []time.Duration{0, time.Second, 4 * time.Second}

var definitionResource = Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions",
	Kind: "CustomResourceDefinition", Watchable: true,
}

// definitions relists the caches of custom resources when their definitions change, and ends
// those whose definition was created again. Its methods are safe for concurrent use.
type definitions struct {
	resolver *Resolver
	schemas  *schemas
	client   func(Resource) (rest.Interface, error)
	running  sync.WaitGroup // the sessions

	warnServices sync.Once // that APIServices cannot be watched

	mu      sync.Mutex // guards the fields below; no other lock is taken while it is held
	members map[*upstream]context.CancelFunc
	session *definitionsSession // nil while there are no members
	warned  bool
}

func newDefinitions(resolver *Resolver, schemas *schemas, client func(Resource) (rest.Interface, error)) *definitions {
	return &definitions{resolver: resolver, schemas: schemas, client: client, members: make(map[*upstream]context.CancelFunc)}
}

func (h *Hub) definitionsClient(resource Resource) (rest.Interface, error) {
	return h.clientFor(resource, h.client, resource.GroupVersionKind())
}

// join has a cache's upstream follow the definition of its resource until the function that
// it returns is called. Stop ends the upstream. The first one starts the watch of the
// definitions, and the last one ends it. It blocks until the definitions are known, for
// definitionsPatience at most. A resource that is built in has no definition.
func (d *definitions) join(ctx context.Context, u *upstream, stop context.CancelFunc) (leave func()) {
	if d == nil || u.cache.resource.BuiltIn() {
		return func() {}
	}
	session := d.enter(u, stop)
	patience := time.NewTimer(definitionsPatience)
	defer patience.Stop()
	select {
	case <-session.settled:
	case <-patience.C:
		session.failed()
	case <-ctx.Done():
	}
	return func() { d.leave(u) }
}

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

// definitionOf is the name of the CRD that defines a resource, if one does.
func definitionOf(resource Resource) string { return resource.GroupResource().String() }

// of returns the upstreams of the resource that a CRD defines, in all its versions; all of
// them without a name.
func (d *definitions) of(name string) []*upstream {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(d.members)), func(u *upstream) bool {
		return name != "" && definitionOf(u.cache.resource) != name
	})
}

// lose ends an upstream, and its cache as one of a resource that is gone.
func (d *definitions) lose(u *upstream) {
	u.lose()
	d.mu.Lock()
	defer d.mu.Unlock()
	if stop := d.members[u]; stop != nil {
		stop()
	}
}

// isFirstWarning reports whether nobody has been warned yet that definitions cannot be
// watched.
func (d *definitions) isFirstWarning() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := !d.warned
	d.warned = true
	return first
}

// check asks discovery, ends the caches of what is not served as they hold it, and relists
// those for which relist says so. With lost, it ends all of them.
func (d *definitions) check(ctx context.Context, upstreams []*upstream, lost bool, relist func(*upstream) bool) {
	if len(upstreams) == 0 {
		return
	}
	fresh, unknown := d.resolver.discovery.refresh(ctx)
	for _, u := range upstreams {
		served := true
		if unknown == nil {
			if is, err := fresh.serves(u.cache.resource); err == nil {
				served = is
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case lost || !served:
			d.lose(u)
		case relist(u):
			u.relist()
		}
	}
}

// definition is what is known of one CRD.
type definition struct {
	uid        string
	generation int64
}

// definitionsSession follows the definitions for as long as there are members. It is the
// store of a Reflector.
type definitionsSession struct {
	*definitions
	end     context.CancelFunc
	settled chan struct{} // closed when the definitions are known, or could not be read
	settle  func()
	wake    chan struct{} // has an element when changed or regrouped is not empty

	// hashes are owned by poll: of OpenAPI documents, by path.
	hashes map[string]string

	stateMu sync.Mutex            // guards the fields below; no other lock is taken while it is held
	synced  bool                  // known has been complete
	late    bool                  // caches have begun before that
	known   map[string]definition // by the CRD's name, also of deleted ones
	changed map[string]bool       // by the CRD's name: whether it was created again
	// regrouped are the groups whose APIServices have changed; "" is all of them.
	regrouped map[string]bool
}

func newDefinitionsSession(of *definitions, end context.CancelFunc) *definitionsSession {
	s := &definitionsSession{
		definitions: of, end: end, settled: make(chan struct{}), wake: make(chan struct{}, 1),
		hashes: make(map[string]string), known: make(map[string]definition), changed: make(map[string]bool),
		regrouped: make(map[string]bool),
	}
	s.settle = sync.OnceFunc(func() { close(s.settled) })
	return s
}

// run follows the definitions until the context ends.
func (s *definitionsSession) run(ctx context.Context) {
	defer s.running.Done()
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

// verify ends the caches that have begun with what discovery has said too late.
func (s *definitionsSession) verify(ctx context.Context) {
	if pause(ctx, verifyAfter) {
		s.check(ctx, s.of(""), false, func(*upstream) bool { return false })
	}
}

// react checks the caches of a resource when its definition has changed, several times.
func (s *definitionsSession) react(ctx context.Context, name string, recreated bool) {
	for _, wait := range checkPauses {
		if !pause(ctx, wait) {
			return
		}
		s.check(ctx, s.of(name), recreated, func(*upstream) bool { return true })
		recreated = false // what begins from now on is of the new definition
	}
}

// compare ends the caches of a group, or of all without one, that discovery does not allow as they
// are any more, several times.
func (s *definitionsSession) compare(ctx context.Context, group string) {
	for _, wait := range checkPauses {
		if !pause(ctx, wait) {
			return
		}
		members := slices.DeleteFunc(s.of(""), func(u *upstream) bool { return group != "" && u.cache.resource.Group != group })
		s.check(ctx, members, false, func(*upstream) bool { return false })
	}
}

// pause reports whether a while has passed before the context has ended.
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

// follow watches the definitions. While it may not, it compares hashes.
func (s *definitionsSession) follow(ctx context.Context) {
	for ctx.Err() == nil {
		refusal := s.watch(ctx)
		s.settle()
		if ctx.Err() == nil && s.isFirstWarning() {
			slog.Warn("the definitions of custom resources cannot be watched; a change of a schema is noticed later, and one of a conversion is not noticed", "error", refusal)
		}
		for began := time.Now(); ctx.Err() == nil && time.Since(began) < definitionsRetry; {
			s.poll(ctx)
			pause(ctx, definitionsInterval)
		}
	}
}

// watch watches the definitions until the context ends or the API server refuses.
func (s *definitionsSession) watch(ctx context.Context) error {
	return s.watchMetadata(ctx, definitionResource, s, s.failed)
}

// watchMetadata has a Reflector fill a store with the metadata of a resource's objects, until the
// context ends or the API server refuses, which is the error. It calls failed when a list has failed.
func (s *definitionsSession) watchMetadata(ctx context.Context, resource Resource, store cache.ReflectorStore, failed func()) error {
	client, err := s.client(resource)
	if err != nil {
		return err
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	reflector := cache.NewReflectorWithOptions(metadataOf(client, resource, refuse, failed), &Object{}, store, cache.ReflectorOptions{
		Name: "informerhub", TypeDescription: resource.String(), Backoff: backoff(),
	})
	reflector.RunWithContext(ctx)
	return context.Cause(ctx)
}

// listThenWatch has a Reflector list before it watches: a list shows at once whether the
// service may, and the right to list is needed at every API server alike.
type listThenWatch struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked for by the Reflector.
func (*listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }

// poll compares the hashes of the OpenAPI documents of the caches' resources with those of
// the last time, and discovery with the caches.
func (s *definitionsSession) poll(ctx context.Context) {
	index, err := s.schemas.index.recent(ctx, maxSchemasAge)
	if err != nil {
		return // the next one may be answered
	}
	changed := make(map[string]bool)
	upstreams := s.of("")
	for _, u := range upstreams {
		path := documentPath(u.cache.resource)
		if published, ok := index[path]; ok {
			hash := published.ServerRelativeURL()
			before, known := s.hashes[path]
			changed[path] = changed[path] || known && before != hash
			s.hashes[path] = hash
		}
	}
	s.check(ctx, upstreams, false, func(u *upstream) bool { return changed[documentPath(u.cache.resource)] })
}

// takeChanged returns the definitions that have changed since it was called last.
func (s *definitionsSession) takeChanged() map[string]bool {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	taken := s.changed
	s.changed = make(map[string]bool)
	return taken
}

// takeRegrouped returns the groups whose APIServices have changed since it was called last.
func (s *definitionsSession) takeRegrouped() map[string]bool {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	taken := s.regrouped
	s.regrouped = make(map[string]bool)
	return taken
}

// regroup notes that an APIService of a group has changed.
func (s *definitionsSession) regroup(group string) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.regrouped[group] = true
	s.wakeLocked()
}

// Add implements cache.ReflectorStore.
func (s *definitionsSession) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *definitionsSession) Update(object any) error {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.noteLocked(object.(*Object))
	return nil
}

// Delete implements cache.ReflectorStore. The definition stays known: one of the same name
// that is created later has another UID.
func (s *definitionsSession) Delete(any) error { return nil }

// Resync implements cache.ReflectorStore; there is nothing to do.
func (s *definitionsSession) Resync() error { return nil }

// Replace implements cache.ReflectorStore.
func (s *definitionsSession) Replace(items []any, _ string) error {
	upstreams := s.of("")
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	for _, item := range items {
		s.noteLocked(item.(*Object))
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

// failed notes that the definitions could not be read in time. Caches begin without them,
// and are relisted when they are known.
func (s *definitionsSession) failed() {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.late = true
	s.settle()
}

func (s *definitionsSession) noteLocked(object *Object) {
	now, name := readDefinition(object), strings.Clone(object.name) // the object is not kept
	before, known := s.known[name]
	s.known[name] = now
	switch {
	case known && before != now:
		s.changeLocked(name, before.uid != now.uid)
	case !known && s.synced:
		s.changeLocked(name, false) // a cache can have begun while it was not there
	}
}

func (s *definitionsSession) changeLocked(name string, recreated bool) {
	s.changed[name] = s.changed[name] || recreated
	s.wakeLocked()
}

func (s *definitionsSession) wakeLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func readDefinition(object *Object) definition {
	generation, _ := strconv.ParseInt(string(jsonMember(jsonMember(object.raw, "metadata"), "generation")), 10, 64)
	return definition{uid: strings.Clone(object.uid), generation: generation}
}
