package permissions_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// developer is the user of a kubeconfig with rights in a few namespaces, and two replicas that read with these.
type developer struct {
	t          *testing.T
	ctx        context.Context
	account    kit.Account
	namespaces []string // a, b and c; at first the rights are those for a and b
	replicas   []*harness.Service
	clients    []kit.ResourceClient
}

const developers = "developer"

func newDeveloper(t *testing.T) *developer {
	t.Helper()
	d := &developer{t: t, ctx: kit.DeadlineAfter(t, 3*kit.WaitTimeout)}
	for range 3 {
		d.namespaces = append(d.namespaces, kit.NewNamespace(d.ctx, t, kit.Cluster(t)))
	}
	slices.Sort(d.namespaces)
	d.account = kit.NewAccount(d.ctx, t, d.namespaces[0], developers)
	d.grant(0)
	d.grant(1)
	kubeconfig := d.account.Kubeconfig()
	for range 2 {
		service := harness.StartService(t, kubeconfig, "--namespaces", strings.Join(d.namespaces, ","))
		d.replicas = append(d.replicas, service)
		d.clients = append(d.clients, harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources)
	}
	return d
}

func (d *developer) grant(i int) {
	d.account.GrantIn(d.namespaces[i], developers, kit.Rule("configmaps", "get", "list", "watch"), kit.Rule("events", "get", "list", "watch"))
}

func (d *developer) revoke(i int) { d.account.RevokeIn(d.namespaces[i], developers) }

// content returns what a client of the API server sees in some of the namespaces, by key.
func (d *developer) content(namespaces ...string) map[string]string {
	d.t.Helper()
	held := map[string]string{}
	for _, namespace := range namespaces {
		list, err := kit.Cluster(d.t).Client.CoreV1().ConfigMaps(namespace).List(d.ctx, metav1.ListOptions{LabelSelector: "traffic"})
		if err != nil {
			d.t.Fatal(err)
		}
		for i := range list.Items {
			held[namespace+"/"+list.Items[i].Name] = list.Items[i].ResourceVersion
		}
	}
	return held
}

var ofTraffic = &kubeconnectv1.WatchRequest{Resource: "configmaps", LabelSelector: "traffic"}

// write changes objects in all namespaces at random until stop is closed.
func (d *developer) write(rnd *rand.Rand, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		namespace, name := d.namespaces[rnd.IntN(len(d.namespaces))], "traffic-"+strconv.Itoa(rnd.IntN(12))
		maps := kit.Cluster(d.t).Client.CoreV1().ConfigMaps(namespace)
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"traffic": strconv.Itoa(i % 3)}}, Data: map[string]string{"i": strconv.Itoa(i)},
		}
		_, err := maps.Create(d.ctx, object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			if err = maps.Delete(d.ctx, name, metav1.DeleteOptions{}); rnd.IntN(3) > 0 && err == nil {
				_, err = maps.Create(d.ctx, object, metav1.CreateOptions{})
			} else if rnd.IntN(3) > 0 {
				_, err = maps.Update(d.ctx, object, metav1.UpdateOptions{})
			}
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && d.ctx.Err() == nil { // another writer was first
			d.t.Errorf("writing %s/%s: %v", namespace, name, err)
			return
		}
	}
}

// scopedStream follows a watch over all namespaces at changing replicas.
type scopedStream struct {
	developer *developer
	name      string
	rnd       *rand.Rand

	mu         sync.Mutex // guards the fields below
	held       map[string]string
	namespaces []string
	resets     int
	wrong      []string

	synced   bool
	newest   map[string]int // in each namespace
	closed   int            // by the last bookmark
	syncedAt int            // version of the last SYNCED
	token    string
}

// follow follows the watch until ctx ends. Each call ends after a random time, and the next one resumes.
func (s *scopedStream) follow(ctx context.Context) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, time.Duration(200+s.rnd.IntN(1500))*time.Millisecond)
		err := s.call(call)
		cancel()
		if code := connect.CodeOf(err); err != nil && code != connect.CodeDeadlineExceeded && code != connect.CodeCanceled && code != connect.CodeUnavailable {
			s.fail("ended with %v", err)
			return
		}
	}
}

func (s *scopedStream) call(ctx context.Context) error {
	request := &kubeconnectv1.WatchRequest{Resource: ofTraffic.Resource, LabelSelector: ofTraffic.LabelSelector, ResumeToken: s.token}
	stream, err := responses.Of(s.developer.clients[s.rnd.IntN(2)].Watch(ctx, request))
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		s.receive(stream.Msg())
	}
	return stream.Err()
}

func (s *scopedStream) receive(response *kubeconnectv1.WatchResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range response.GetEvents() {
		s.apply(event, response)
	}
	if token := response.GetResumeToken(); token != "" {
		s.token = token
	}
}

func (s *scopedStream) apply(event *kubeconnectv1.Event, response *kubeconnectv1.WatchResponse) {
	version, _ := strconv.Atoi(event.GetResourceVersion())
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		s.held, s.newest, s.closed, s.synced = map[string]string{}, map[string]int{}, 0, false
		s.namespaces, s.resets = response.GetNamespaces(), s.resets+1
		return
	case kubeconnectv1.EventType_EVENT_TYPE_SYNCED:
		s.synced, s.closed, s.syncedAt = true, version, version
		return
	case kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
		s.closed = max(s.closed, version)
		return
	}
	object := event.GetObject()
	namespace, key := object.GetNamespace(), object.GetNamespace()+"/"+object.GetName()
	if !slices.Contains(s.namespaces, namespace) {
		s.failLocked("%v of %s, in %v", event.GetType(), key, s.namespaces)
	}
	closed := s.closed
	if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
		if s.held[key] == "" {
			return // deletions that were the last events before an interruption can be sent again
		}
		if version == s.syncedAt {
			closed = min(closed, version-1) // another object was deleted at the version of the snapshot
		}
	}
	if s.synced && (version <= closed || version < s.newest[namespace]) {
		s.failLocked("%v of %s at %d, after a bookmark at %d and an event at %d", event.GetType(), key, version, s.closed, s.newest[namespace])
	}
	s.newest[namespace] = max(version, s.newest[namespace])
	if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_DELETED {
		delete(s.held, key)
		return
	}
	if s.held[key] == object.GetResourceVersion() {
		s.failLocked("%s comes twice at %s", key, object.GetResourceVersion())
	}
	s.held[key] = object.GetResourceVersion()
}

func (s *scopedStream) fail(format string, values ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(format, values...)
}

func (s *scopedStream) failLocked(format string, values ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(s.name+": "+format, values...))
}

// until waits until the stream has exactly the content of some namespaces.
func (s *scopedStream) until(namespaces ...string) {
	d := s.developer
	kit.Eventually(d.ctx, d.t, s.name+" has the content of the namespaces", func() error {
		want := d.content(namespaces...)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.wrong) > 0 {
			d.t.Fatal(strings.Join(s.wrong[:min(3, len(s.wrong))], "\n"))
		}
		if !slices.Equal(s.namespaces, namespaces) || !maps.Equal(s.held, want) {
			return fmt.Errorf("it has %v of %v, want %v", s.held, s.namespaces, want)
		}
		return nil
	})
}

// TestScopes_DeveloperWithTwoNamespaces is about someone who may read two namespaces, and who starts the service with that
// kubeconfig: random traffic, streams that move between two replicas, a namespace more and one less in mid-stream.
func TestScopes_DeveloperWithTwoNamespaces(t *testing.T) {
	t.Parallel()
	d, seed := newDeveloper(t), kit.NewSeed(t)
	a, b, c := d.namespaces[0], d.namespaces[1], d.namespaces[2]
	stop, following := make(chan struct{}), context.Context(nil)
	following, end := context.WithCancel(d.ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	var streams []*scopedStream
	for i := range 6 {
		stream := &scopedStream{developer: d, name: fmt.Sprint("stream ", i), rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
		streams = append(streams, stream)
		running.Go(func() { stream.follow(following) })
	}
	var writing sync.WaitGroup
	for i := range 2 {
		writing.Go(func() { d.write(rand.New(rand.NewPCG(seed, uint64(100+i))), stop) })
	}
	time.Sleep(5 * time.Second)
	d.lists(a, b)
	began := d.firstPage()
	d.grant(2)
	time.Sleep(15 * time.Second)
	d.revoke(0)
	time.Sleep(5 * time.Second)
	close(stop)
	writing.Wait()
	for _, stream := range streams {
		stream.until(b, c)
	}
	d.until(b, c)
	d.walksPages(b, c)
	if _, err := d.clients[1].List(d.ctx, began); !kit.IsExpired(err) {
		t.Errorf("a list that began in other namespaces continues: %v", err)
	}
	large := kit.ConfigMapsIn(d.ctx, t, kit.Cluster(t), b)
	for i := range 260 {
		large.Create(fmt.Sprint("many-", i), nil)
	}
	d.readsWritesOf(b)
	d.readsWritesOf(c)
	d.counts(b, c)
	d.page(b, c)
	d.outside(a)
	if output := d.replicas[0].Output(); strings.Contains(output, "UnhandledError") {
		t.Errorf("the log has client-go's own errors:\n%s", output)
	}
}

// lists checks that a list of all namespaces names those that it covers.
func (d *developer) lists(namespaces ...string) {
	d.t.Helper()
	for _, client := range d.clients {
		list, err := client.List(d.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		if err != nil {
			d.t.Fatal(err)
		}
		if !slices.Equal(list.GetNamespaces(), namespaces) || len(list.GetWarnings()) != 1 || list.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
			d.t.Errorf("a list covers %v, and warns %q", list.GetNamespaces(), list.GetWarnings())
		}
		if _, err := client.List(d.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", RequireAllNamespaces: true}); connect.CodeOf(err) != connect.CodePermissionDenied {
			d.t.Errorf("a list that requires all namespaces: %v", err)
		}
	}
}

// until blocks until lists of both replicas cover exactly the namespaces.
func (d *developer) until(namespaces ...string) {
	d.t.Helper()
	for _, client := range d.clients {
		kit.Eventually(d.ctx, d.t, "the replica reads the namespaces", func() error {
			list, err := client.List(d.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
			if err == nil && !slices.Equal(list.GetNamespaces(), namespaces) {
				err = fmt.Errorf("the list covers %v", list.GetNamespaces())
			}
			return err
		})
	}
}

// firstPage reads the first page of a list, and returns the request of the next one.
func (d *developer) firstPage() *kubeconnectv1.ListRequest {
	d.t.Helper()
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", PageSize: 1}
	list, err := d.clients[0].List(d.ctx, request)
	if err != nil {
		d.t.Fatal(err)
	}
	request.PageToken = list.GetNextPageToken()
	return request
}

// walksPages reads a list page by page, each from another replica.
func (d *developer) walksPages(namespaces ...string) {
	d.t.Helper()
	for _, orderBy := range []string{"", "metadata.labels.traffic"} {
		held, token := map[string]string{}, ""
		for page := 0; page == 0 || token != ""; page++ {
			list, err := d.clients[page%2].List(d.ctx, &kubeconnectv1.ListRequest{
				Resource: "configmaps", LabelSelector: "traffic", PageSize: 3, PageToken: token, OrderBy: orderBy,
			})
			if err != nil {
				d.t.Fatalf("page %d by %q: %v", page, orderBy, err)
			}
			for _, object := range list.GetObjects() {
				held[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
			}
			token = list.GetNextPageToken()
		}
		if want := d.content(namespaces...); !maps.Equal(held, want) {
			d.t.Errorf("the pages by %q have %v, want %v", orderBy, held, want)
		}
	}
}

// readsWritesOf checks that reads of all namespaces see a write in one of them, while the others are quiet.
func (d *developer) readsWritesOf(namespace string) {
	d.t.Helper()
	maps := kit.ConfigMapsIn(d.ctx, d.t, kit.Cluster(d.t), namespace)
	for i := range 4 {
		name := fmt.Sprint("written-", i)
		version := maps.Create(name, nil).ResourceVersion
		for _, client := range d.clients {
			list, err := client.List(d.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", FieldSelector: "metadata.name=" + name, MinResourceVersion: version})
			if err != nil || len(list.GetObjects()) != 1 {
				d.t.Errorf("a read of %s at version %s has %d objects: %v", namespace, version, len(list.GetObjects()), err)
			}
		}
		maps.Delete(name)
	}
}

// counts checks that live counts are those of the namespaces.
func (d *developer) counts(namespaces ...string) {
	d.t.Helper()
	stream, err := responses.Of(d.clients[1].WatchCounts(d.ctx, &kubeconnectv1.WatchCountsRequest{Resource: "configmaps", LabelSelector: "traffic", GroupBy: []string{"metadata.namespace"}}))
	if err != nil {
		d.t.Fatal(err)
	}
	defer stream.Close()
	for stream.Receive() && !stream.Msg().GetReset_() {
		continue
	}
	if got, want := stream.Msg(), d.content(namespaces...); got.GetTotalCount() != int64(len(want)) || !slices.Equal(got.GetNamespaces(), namespaces) {
		d.t.Errorf("counts of %v: %d, want %d (%v)", got.GetNamespaces(), got.GetTotalCount(), len(want), stream.Err())
	}
}

// page checks that a live page has the first objects of the namespaces, and resumes at the other replica.
func (d *developer) page(namespaces ...string) {
	d.t.Helper()
	want := slices.Sorted(maps.Keys(d.content(namespaces...)))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", LabelSelector: "traffic", Limit: 5, Joins: []*kubeconnectv1.Join{
		{Name: "events", Resource: "events", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMES, Path: "involvedObject.name"},
	}}
	for i, client := range d.clients {
		ctx, cancel := context.WithCancel(d.ctx)
		stream, err := responses.Of(client.Watch(ctx, request))
		if err != nil {
			d.t.Fatal(err)
		}
		var got []string
		for done := false; !done && stream.Receive(); {
			for _, event := range stream.Msg().GetEvents() {
				switch event.GetType() {
				case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
					got = append(got, event.GetObject().GetNamespace()+"/"+event.GetObject().GetName())
				case kubeconnectv1.EventType_EVENT_TYPE_RESET:
					if i > 0 {
						d.t.Error("a page does not resume at another replica")
					}
				case kubeconnectv1.EventType_EVENT_TYPE_SYNCED, kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK:
					done = true
				}
			}
			if token := stream.Msg().GetResumeToken(); token != "" {
				request.ResumeToken = token
			}
		}
		if i == 0 && !slices.Equal(got, want[:min(5, len(want))]) || i > 0 && len(got) > 0 {
			d.t.Errorf("page %d has %v, want %v (%v)", i, got, want, stream.Err())
		}
		cancel()
		stream.Close()
	}
}

// outside checks that a namespace that is not cached is read at the API server, which denies it.
func (d *developer) outside(namespace string) {
	d.t.Helper()
	for name, read := range map[string]func() error{
		"Get": func() error {
			_, err := d.clients[0].Get(d.ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "kube-root-ca.crt"})
			return err
		},
		"List": func() error {
			_, err := d.clients[0].List(d.ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
			return err
		},
		"Watch": func() error {
			_, err := kit.FirstOf(d.ctx, d.clients[0], &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
			return err
		},
	} {
		if err := read(); connect.CodeOf(err) != connect.CodePermissionDenied {
			d.t.Errorf("%s in a namespace without rights: %v", name, err)
		}
	}
}

// TestScopes_CallersOutsideAreServedLive is about a service that callers authenticate at, and that may read one namespace: a
// caller with more rights reads the others live.
func TestScopes_CallersOutsideAreServedLive(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	inside, outside := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := kit.StartForCallers(t, "--namespaces", inside)
	caller := kit.NewAccount(ctx, t, inside, "both")
	for _, namespace := range []string{inside, outside} {
		caller.GrantIn(namespace, "both", kit.Rule("configmaps", "get", "list", "watch"))
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	}
	clients := caller.Calling(service, harness.GRPC)
	kit.Eventually(ctx, t, "the caller has its permissions", func() error {
		_, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: outside, Name: "one"})
		return err
	})
	for namespace, want := range map[string]kubeconnectv1.Source{inside: kubeconnectv1.Source_SOURCE_CACHE, outside: kubeconnectv1.Source_SOURCE_API_SERVER} {
		got, err := clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "one"})
		if err != nil || got.GetSource() != want {
			t.Errorf("Get is from %v, %v", got.GetSource(), err)
		}
		list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
		if err != nil || list.GetSource() != want || len(list.GetObjects()) == 0 {
			t.Errorf("List is from %v, %v", list.GetSource(), err)
		}
		first, err := kit.FirstOf(ctx, clients.Resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
		if err != nil || first.GetSource() != want {
			t.Errorf("Watch is from %v, %v", first.GetSource(), err)
		}
		joined, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, Joins: []*kubeconnectv1.Join{
			{Name: "same", Type: kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY, Resource: "configmaps", Path: "metadata.name"}}})
		if err != nil {
			t.Fatal(err)
		}
		if result := joined.GetObjects()[0].GetJoined()[0]; result.GetNotPermitted() != (namespace == outside) || result.GetCount() == 1 != (namespace == inside) {
			t.Errorf("a join has %v", result)
		}
		if namespace == outside {
			wantWarning(t, joined.GetWarnings(), `join "same": some results are unknown: the service does not cache configmaps in their namespaces`)
		}
	}
	list, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
	if err != nil || !slices.Equal(list.GetNamespaces(), []string{inside}) || len(list.GetWarnings()) != 1 {
		t.Errorf("a list of all covers %v, with %q, %v", list.GetNamespaces(), list.GetWarnings(), err)
	}
	stranger := kit.NewAccount(ctx, t, outside, "outside")
	stranger.GrantIn(outside, "outside", kit.Rule("configmaps", "get", "list", "watch"))
	only := stranger.Calling(service, harness.GRPC)
	kit.Eventually(ctx, t, "an error that says what to do", func() error {
		_, err := only.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "name a namespace") {
			return fmt.Errorf("the error is %w", errors.Join(err, errors.New("want one about namespaces")))
		}
		return nil
	})
}

// TestScopes_LosesThePermissionForAll is about a service that may read all namespaces, and then only one of them, while a watch
// of all is open at the API server.
func TestScopes_LosesThePermissionForAll(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	kept, lost := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	account := kit.NewAccount(ctx, t, kept, "loses")
	account.GrantIn(kept, "loses", kit.Rule("configmaps", "get", "list", "watch"))
	listing := kit.Rule("namespaces", "list", "watch")
	kit.GrantEverywhere(t, account, listing, kit.Rule("configmaps", "get", "list", "watch"))
	service := harness.StartService(t, account.Kubeconfig())
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	kit.Eventually(ctx, t, "everything is read", func() error {
		list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		if err == nil && len(list.GetNamespaces()) > 0 {
			err = fmt.Errorf("the list covers %v", list.GetNamespaces())
		}
		return err
	})
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps"})
	stream.Synced(ctx)
	roles := kit.Cluster(t).Client.RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, kept+"-loses", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if role.Rules = role.Rules[:1]; role.Rules[0].Resources[0] != listing.Resources[0] {
		t.Fatalf("the rules are %v", role.Rules)
	}
	if _, err := roles.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "only the permitted namespace is read", func() error {
		list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps"})
		if err == nil && !slices.Equal(list.GetNamespaces(), []string{kept}) {
			err = fmt.Errorf("the list covers %v", list.GetNamespaces())
		}
		return err
	})
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), lost).Create("hidden", nil)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), kept).Create("shown", nil)
	held := stream.Until(ctx, "the object of the permitted namespace is there", func(view *record.View) bool {
		_, shown := view.Model.Objects[validate.Key{Namespace: kept, Name: "shown"}]
		return view.Model.Synced && shown
	})
	for key := range held.Model.Objects {
		if key.Namespace != kept {
			t.Errorf("the stream has %s", key)
		}
	}

	// Without any namespace the resource is no longer cached. A client that resumes is served by the API server, as far as it may.
	account.RevokeIn(kept, "loses")
	if err := stream.End(ctx); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the stream ended with %v", err)
	}
}

// TestScopes_ASingleNameIsReadLive is about a service that has permissions for one object: it is read and followed at the API
// server, and nothing else is.
func TestScopes_ASingleNameIsReadLive(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	maps := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	maps.Create("only", nil)
	maps.Create("other", nil)
	account := kit.NewAccount(ctx, t, namespace, "one")
	rule := kit.Rule("configmaps", "get", "list", "watch")
	rule.ResourceNames = []string{"only"}
	account.GrantIn(namespace, "one", rule)
	service := harness.StartService(t, account.Kubeconfig(), "--namespaces", namespace)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	get := func(name string) error {
		_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: name})
		return err
	}
	kit.Eventually(ctx, t, "the object is read", func() error { return get("only") })
	if err := get("other"); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("another object: %v", err)
	}
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("a list of all: %v", err)
	}
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: "only"})
	stream.Synced(ctx)
	version := maps.Touch("only", "changed").ResourceVersion
	stream.Reaches(ctx, version)
}

// TestSelect_CachesAPart is about a service that caches the objects of one label: reads cover these and say so, and an object that is
// not cached is read live.
func TestSelect_CachesAPart(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	configMaps := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	configMaps.Create("ours", kit.Labels{"team": "shop"})
	configMaps.Create("theirs", kit.Labels{"team": "blog"})
	clients := kit.NewReplicas(t, kit.Cluster(t), 1, "--select", "cm=team=shop")
	whole := kit.NewReplicas(t, kit.Cluster(t), 1)
	list, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
	if err != nil || len(list.GetObjects()) != 1 || list.GetObjects()[0].GetName() != "ours" || len(list.GetWarnings()) != 1 || !strings.Contains(list.GetWarnings()[0], "team=shop") {
		t.Errorf("a list has %v, warns %q, %v", list.GetObjects(), list.GetWarnings(), err)
	}
	for name, want := range map[string]kubeconnectv1.Source{"ours": kubeconnectv1.Source_SOURCE_CACHE, "theirs": kubeconnectv1.Source_SOURCE_API_SERVER} {
		got, err := clients[0].Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: name})
		if err != nil || got.GetSource() != want {
			t.Errorf("%s is from %v, %v", name, got.GetSource(), err)
		}
	}
	if _, err := clients[0].Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "none"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("an object that does not exist: %v", err)
	}
	latest, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST, LabelSelector: "team"})
	if err != nil || len(latest.GetObjects()) != 2 || len(latest.GetWarnings()) != 0 {
		t.Errorf("the latest list has %v, warns %q, %v", latest.GetObjects(), latest.GetWarnings(), err)
	}

	// An object that enters or leaves the selection.
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(clients[0].Watch(watching, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	token, held := "", map[string]bool{}
	until := func(want ...string) {
		t.Helper()
		for synced := false; !synced || !slices.Equal(slices.Sorted(maps.Keys(held)), want); {
			if !stream.Receive() {
				t.Fatalf("the stream has ended: %v; it has %v", stream.Err(), held)
			}
			for _, event := range stream.Msg().GetEvents() {
				switch event.GetType() {
				case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
					held[event.GetObject().GetName()] = true
				case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
					delete(held, event.GetObject().GetName())
				}
			}
			if synced = stream.Msg().GetResumeToken() != ""; synced {
				token = stream.Msg().GetResumeToken()
			}
		}
	}
	until("ours")
	configMaps.Relabel("theirs", map[string]any{"team": "shop"})
	until("ours", "theirs")
	configMaps.Relabel("ours", map[string]any{"team": "blog"})
	until("theirs")

	// A replica that caches all of them does not continue the stream as if it had had all.
	first, err := kit.FirstOf(ctx, whole[0], &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, ResumeToken: token})
	if err != nil || len(first.GetEvents()) == 0 || first.GetEvents()[0].GetType() != kubeconnectv1.EventType_EVENT_TYPE_RESET {
		t.Errorf("a replica without the selection begins with %v, %v", first.GetEvents(), err)
	}
}
