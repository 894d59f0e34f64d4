package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// "A list with related.transitive ... are computed again for a page, and expire when that gives other
// objects."
func TestChecked_PagesOverOwnersExpireWhenTheObjectsChange(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 6)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	related := &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: s.Namespace, Name: "owner", Transitive: true}
	for name, change := range map[string]func(string){
		"changed": func(n string) { s.Relabel("p-05", `{"n":"`+n+`"}`) },
		"deleted": func(n string) { s.Create("p-09-"+n, kit.Labels{"app": "web"}); s.Delete("p-09-" + n) },
		"made":    func(n string) { s.Create("p-00a-"+n, kit.Labels{"app": "web"}) },
	} {
		for i, order := range []string{"", "metadata.name desc"} {
			request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, Related: related, PageSize: 2, OrderBy: order}
			if name == "deleted" {
				s.Create(fmt.Sprint("p-08-", i), kit.Labels{"app": "web"})
			}
			request.MinResourceVersion = s.Last
			page, err := clients[0].List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			request.PageToken = page.GetNextPageToken()
			rest, err := clients[0].List(ctx, kit.WithPageSize(request, 0))
			if err != nil {
				t.Fatal(err)
			}
			if change(fmt.Sprint(i)); name == "deleted" {
				s.Delete(fmt.Sprint("p-08-", i))
				s.Relabel("outside", `{"n":"`+fmt.Sprint(i)+`"}`)
			}
			for i, client := range clients {
				kit.Eventually(ctx, t, name+" is noticed", func() error {
					answer, err := client.List(ctx, kit.WithPageSize(request, 0))
					now, listErr := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, MinResourceVersion: s.Last})
					if listErr == nil && err == nil && !kit.IsNewer(t, now.GetResourceVersion(), page.GetResourceVersion()) {
						return fmt.Errorf("it is as before")
					}
					if err == nil {
						t.Logf("%s, order %q, replica %d: not expired: %v", name, order, i, kit.StatesOf(answer.GetObjects()))
						kit.WantStates(t, answer.GetObjects(), rest.GetObjects())
						return listErr
					}
					if !kit.IsExpired(err) {
						t.Errorf("%s, order %q, replica %d: %v with status %v", name, order, i, err, kit.StatusIn(err))
					}
					return nil
				})
			}
		}
	}
}

// "or belongs to a history that was undone by restoring a backup": what says so where versions do
// not is the generation of the tokens.
func TestChecked_PageTokenOfAnotherGenerationExpires(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 4)
	before := kit.NewReplicas(t, kit.Cluster(t), 1, "--token-generation", "before")[0]
	after := kit.NewReplicas(t, kit.Cluster(t), 1, "--token-generation", "after")[0]
	for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, PageSize: 1, Consistency: consistency}
		page, err := before.List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		request.PageToken = page.GetNextPageToken()
		answer, err := after.List(ctx, request)
		kit.WantExpiredPage(t, answer, err)
	}
}

// Events about an object, and owners of one, in pages.
func TestChecked_PagesOfOwnersAndEventsAreComplete(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	write := kit.ConfigMapsIn(ctx, t, in, namespace)
	var owners []metav1.OwnerReference
	var want []string
	for i := range 3 {
		owner := write.Create(fmt.Sprint("owner-", i), nil)
		owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID})
		want = append(want, owner.Name)
	}
	owned, err := in.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: owners}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for i := range 4 {
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprint("event-", i)},
			InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: namespace, Name: "owned", UID: owned.UID},
			Reason:         "Tested", Message: "m", Type: "Normal",
		}
		if _, err := in.Client.CoreV1().Events(namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		events = append(events, event.Name)
	}
	clients := kit.NewReplicas(t, in, 3)
	for _, c := range []struct {
		resource string
		of       kubeconnectv1.RelationType
		want     []string
	}{
		{"configmaps", kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF, want},
		{"events", kubeconnectv1.RelationType_RELATION_TYPE_ABOUT, events},
	} {
		request := &kubeconnectv1.ListRequest{Resource: c.resource, Namespace: namespace, PageSize: 1, Related: &kubeconnectv1.Relation{Type: c.of, Resource: "configmaps", Namespace: namespace, Name: "owned"}}
		kit.Eventually(ctx, t, "all are listed", func() error {
			page, err := clients[0].List(ctx, kit.WithPageSize(request, 0))
			if err == nil && len(page.GetObjects()) != len(c.want) {
				err = fmt.Errorf("%v", kit.NamesOf(page.GetObjects()))
			}
			return err
		})
		got := kit.NamesOf(kit.WalkPages(ctx, t, clients, request, func(page int, _ *kubeconnectv1.ListResponse) {
			if c.resource == "events" {
				_ = in.Client.CoreV1().Events(namespace).Delete(ctx, fmt.Sprint("event-", page), metav1.DeleteOptions{})
			} else {
				write.Touch(fmt.Sprint("owner-", page), "touched")
			}
		}))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.resource, got, c.want)
		}
	}
}

// A first snapshot that takes longer than ten seconds: UNAVAILABLE, and read even so, for any caller that
// calls again.
func TestChecked_SlowFirstSnapshotArrivesAfterRetries(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 3*kit.WaitTimeout)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	gadgets := kit.NewCustomResource(ctx, t, in, namespace)
	gadgets.Define("v1")
	for i := range 4 {
		kit.CreateGadget(t, gadgets, namespace, fmt.Sprint("g-", i), map[string]any{"text": strings.Repeat("x", 250_000)}, "")
	}
	client, link := kit.NewClientBehindProxy(t, in, harness.None)
	if _, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: gadgets.Name(), Namespace: namespace, Name: "g-0", Consistency: kit.Latest}); err != nil {
		t.Fatal(err)
	}
	link.Set(harness.Slow)
	calls, waits, synced := 0, 0, false
	for ; !synced && ctx.Err() == nil; calls++ {
		began := time.Now()
		watching, cancel := context.WithCancel(ctx)
		stream, err := responses.Of(client.Watch(watching, &kubeconnectv1.WatchRequest{Resource: gadgets.Name(), Namespace: namespace}))
		if err == nil {
			for !synced && stream.Receive() {
				for _, event := range stream.Msg().GetEvents() {
					if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK && event.GetResourceVersion() == "" {
						waits++
					}
					synced = synced || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
				}
			}
			err = stream.Err()
		}
		t.Logf("call %d, %v: synced %t, %v with status %v", calls, time.Since(began), synced, err, kit.StatusIn(err))
		if !synced && connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("call %d: %v", calls, err)
		}
		cancel()
	}
	if !synced || waits == 0 {
		t.Errorf("after %d calls: synced %t, %d bookmarks of waiting", calls, synced, waits)
	}
}

// "How many groups were left out, for there were more than max_groups, or more than fit in about 3 MiB."
func TestChecked_GroupsAboveTheResponseSizeAreOmitted(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	write := kit.ConfigMapsIn(ctx, t, in, namespace)
	last := ""
	for i := range 6 {
		name := fmt.Sprint("big-", i)
		write.Create(name, kit.Labels{"app": "web"})
		last = write.Patch(name, map[string]any{"data": map[string]any{"big": strings.Repeat("x", 900_000) + name}}).ResourceVersion
	}
	client := kit.NewReplicas(t, in, 1)[0]
	count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web", GroupBy: []string{"data.big"}, MinResourceVersion: last})
	if err != nil || count.GetTotalCount() != 6 || len(count.GetGroups()) == 0 || int64(len(count.GetGroups()))+count.GetRemainingGroupCount() != 6 || count.GetRemainingGroupCount() < 2 {
		t.Errorf("%d groups and %d more of %d, %v", len(count.GetGroups()), count.GetRemainingGroupCount(), count.GetTotalCount(), err)
	}
}

// "After five seconds, ... DEADLINE_EXCEEDED with retry_after_seconds."
func TestChecked_FutureVersionIsRejectedWithARetryTime(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 2)
	client := kit.NewReplicas(t, kit.Cluster(t), 1)[0]
	for name, call := range callsForTheFuture(t, client, s.Namespace) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call(kit.Deadline(t))
			if connect.CodeOf(err) != connect.CodeDeadlineExceeded || kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
				t.Errorf("%v with status %v", err, kit.StatusIn(err))
			}
		})
	}
}

// callsForTheFuture wait for a version that will not come.
func callsForTheFuture(t *testing.T, client kit.ResourceClient, namespace string) map[string]func(context.Context) error {
	future := "900000000000"
	watch := &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: namespace, MinResourceVersion: future}
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "pods", Namespace: namespace, Name: "p-00", MinResourceVersion: future})
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: namespace, MinResourceVersion: future})
			return err
		},
		"watch": func(ctx context.Context) error {
			stream, err := responses.Of(client.Watch(ctx, watch))
			if err != nil {
				return err
			}
			defer stream.Close()
			for stream.Receive() {
				t.Logf("it says %v", stream.Msg())
			}
			return stream.Err()
		},
		"watch many": func(ctx context.Context) error {
			stream, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: harness.WatchSpecs(watch)}))
			if err != nil {
				return err
			}
			defer stream.Close()
			for stream.Receive() {
				t.Logf("it says %v", stream.Msg())
			}
			return stream.Err()
		},
	}
}

// The related object is one "which the caller must have the right to get", on each page; a list of one
// namespace is nobody's who has lost it.
func TestChecked_RelatedPermissionsAreCheckedOnEachPage(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	services := kit.NewServices(t, 2)
	s := kit.NewPodSet(ctx, t, 6)
	reader := kit.NewAccount(ctx, t, s.Namespace, "reader")
	reader.GrantIn(s.Namespace, "lists", kit.Rule("pods", "list", "watch"))
	reader.GrantIn(s.Namespace, "gets", kit.Rule("services", "get"))
	lister := kit.NewAccount(ctx, t, s.Namespace, "lister")
	lister.GrantIn(s.Namespace, "lists-only", kit.Rule("pods", "list", "watch"))
	related := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, PageSize: 1, Related: &kubeconnectv1.Relation{
		Type: kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, Resource: "services", Namespace: s.Namespace, Name: "front",
	}}
	plain := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, PageSize: 1}
	var clients []kit.ResourceClient
	for i, service := range services {
		clients = append(clients, reader.Calling(service, harness.GRPC).Resources)
		for _, request := range []*kubeconnectv1.ListRequest{related, plain} {
			kit.Eventually(ctx, t, "it can be listed", func() error {
				page, err := clients[i].List(ctx, request)
				if i == 0 && err == nil {
					defer func() { request.PageToken = page.GetNextPageToken() }()
				}
				return err
			})
		}
	}
	for i, service := range services {
		page, err := lister.Calling(service, harness.GRPC).Resources.List(ctx, related)
		if code := connect.CodeOf(err); code != connect.CodePermissionDenied {
			t.Errorf("replica %d, without the right to the service: %v, %v", i, kit.NamesOf(page.GetObjects()), err)
		}
	}
	refused := func(request *kubeconnectv1.ListRequest) {
		t.Helper()
		for i, client := range clients {
			kit.Eventually(ctx, t, "the loss is noticed", func() error {
				page, err := client.List(ctx, request)
				if err == nil {
					return fmt.Errorf("replica %d: %v", i, kit.NamesOf(page.GetObjects()))
				}
				t.Logf("replica %d: %v with reason %q", i, connect.CodeOf(err), kit.StatusIn(err).GetReason())
				if connect.CodeOf(err) != connect.CodePermissionDenied && !kit.IsExpired(err) {
					t.Errorf("replica %d: %v", i, err)
				}
				return nil
			})
		}
	}
	reader.RevokeIn(s.Namespace, "gets")
	refused(related)
	reader.RevokeIn(s.Namespace, "lists")
	refused(plain)
}

// A replica that neither remembers the version nor can ask says so, and answers nothing else.
func TestChecked_PageWithoutHistoryOrAPIServerIsUnavailable(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 12)
	client := kit.NewReplicas(t, kit.Cluster(t), 1)[0]
	request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, PageSize: 2, LabelSelector: "app=web", MinResourceVersion: s.Last}
	page, err := client.List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	s.Disturb(1, page)
	late, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
	if _, err := late.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, MinResourceVersion: s.Last}); err != nil {
		t.Fatal(err)
	}
	request.PageToken = page.GetNextPageToken()
	for _, fault := range []harness.Fault{harness.Refused, harness.Frozen} {
		link.Set(fault)
		began := time.Now()
		answer, err := late.List(ctx, request)
		t.Logf("after %v: %v with status %v", time.Since(began), err, kit.StatusIn(err))
		if err == nil {
			t.Errorf("it answers %v", kit.NamesOf(answer.GetObjects()))
		} else if code := connect.CodeOf(err); code != connect.CodeUnavailable && code != connect.CodeDeadlineExceeded {
			t.Errorf("the code is %v", code)
		}
	}
	link.Set(harness.None)
	kit.Eventually(ctx, t, "it can ask again", func() error {
		answer, err := late.List(ctx, request)
		if err == nil && !slices.Equal(kit.NamesOf(answer.GetObjects()), []string{"p-02", "p-03"}) {
			t.Errorf("it answers %v", kit.NamesOf(answer.GetObjects()))
		}
		return err
	})
}

// "The rows in the API server's order, which compares "NAMESPACE/NAME" as text": where one namespace
// is the beginning of another.
func TestChecked_TableIsInTheOrderOfTheAPIServer(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	short := kit.NewNamespace(ctx, t, in)
	long := kit.CreateNamespace(ctx, t, short+"-b")
	var want []string
	for _, namespace := range []string{short, long} {
		kit.ConfigMapsIn(ctx, t, in, namespace).Create("a", kit.Labels{"order": short})
		want = append(want, namespace+"/a")
	}
	slices.Sort(want)
	client := kit.NewReplicas(t, in, 1)[0]
	for _, size := range []int32{0, 1} {
		var got []string
		request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", LabelSelector: "order=" + short, PageSize: size}
		for range kit.MaxPages {
			page, err := client.GetTable(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page.GetRows() {
				got = append(got, row.GetNamespace()+"/"+row.GetName())
			}
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("a table in pages of %d: %v, want %v", size, got, want)
		}
	}
}

// "the answer's warnings say how many and why": "of the whole list, on its first page".
func TestChecked_FirstPageHasTheFilterWarningsOfTheWholeList(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 12)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	for _, order := range []string{"", "metadata.name desc"} {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, Filter: "object.metadata.labels.rank == '0'", PageSize: 1, MinResourceVersion: s.Last, OrderBy: order}
		first, err := clients[0].List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		// Four of twelve have no rank: 3, 7, 11, and "outside".
		if !strings.Contains(strings.Join(first.GetWarnings(), "\n"), "4") {
			t.Errorf("order %q: the warnings are %q, of 4 objects", order, first.GetWarnings())
		}
		request.PageToken = first.GetNextPageToken()
		for i, client := range clients {
			second, err := client.List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			if len(second.GetWarnings()) != 0 {
				t.Errorf("order %q, replica %d: the second page warns: %q", order, i, second.GetWarnings())
			}
		}
	}
}

// Several watches in one stream that ends by its age: "one token resumes them all".
func TestChecked_SeveralWatchesMoveToReplicasAtMaximumAge(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 4)
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), s.Namespace)
	write.Create("written", nil)
	clients := kit.NewReplicas(t, kit.Cluster(t), 3, "--max-stream-age", "2s")
	request := &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{
		{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web"},
		{Resource: "configmaps", Namespace: s.Namespace, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE},
		{Resource: "pods", Namespace: s.Namespace, Filter: "object.metadata.labels.rank == '0'", MetadataOnly: true},
	}}
	models := make([]validate.Model, 3)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	var ends []error
	changes := 0
	for i := 0; len(ends) < 5; i++ {
		stream, err := responses.Of(clients[i%3].WatchMany(watching, request))
		if err != nil {
			t.Fatal(err)
		}
		for stream.Receive() {
			message := stream.Msg()
			request.ResumeToken = message.GetResumeToken()
			for _, event := range message.GetResponse().GetEvents() {
				model := &models[message.GetWatchIndex()]
				event = model.Whole(event)
				if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET && i > 0 {
					t.Errorf("call %d: watch %d resyncs, after version %s", i, message.GetWatchIndex(), model.Version)
				}
				if held := model.Objects[validate.KeyOf(event.GetObject())]; held != nil && event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_ADDED {
					t.Errorf("watch %d: ADDED of what is held: %v", message.GetWatchIndex(), record.Line(event))
				}
				model.Apply(event)
			}
			changes++
			if changes%2 == 0 && changes < 200 {
				s.Relabel("p-01", fmt.Sprintf(`{"rank":"%d"}`, changes/2%2))
				write.Touch("written", fmt.Sprint(changes))
			}
		}
		ends = append(ends, stream.Err())
		_ = stream.Close()
	}
	for _, err := range ends {
		if connect.CodeOf(err) != connect.CodeUnavailable || kit.StatusIn(err).GetReason() != "StreamMoved" {
			t.Errorf("a stream has ended with %v and status %v", err, kit.StatusIn(err))
		}
	}
	s.Relabel("p-01", `{"rank":"0","end":"end"}`)
	last := write.Touch("written", "end").ResourceVersion
	stream, err := responses.Of(clients[0].WatchMany(watching, request))
	if err != nil {
		t.Fatal(err)
	}
	reached := func(i int, version string) bool {
		return models[i].Version != "" && !laterThan(version, models[i].Version)
	}
	for !(reached(0, s.Last) && reached(1, last) && reached(2, s.Last)) && stream.Receive() {
		for _, event := range stream.Msg().GetResponse().GetEvents() {
			model := &models[stream.Msg().GetWatchIndex()]
			model.Apply(model.Whole(event))
		}
	}
	cancel()
	_ = stream.Close()
	for i, model := range models {
		if model.Resets != 1 {
			t.Errorf("watch %d has begun %d times", i, model.Resets)
		}
		list, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: request.Watches[i].GetResource(), Namespace: s.Namespace, LabelSelector: request.Watches[i].GetLabelSelector(), Filter: request.Watches[i].GetFilter(), MinResourceVersion: last})
		if err != nil {
			t.Fatal(err)
		}
		got := kit.StatesOf(valuesOf(model))
		slices.Sort(got)
		want := kit.StatesOf(list.GetObjects())
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("watch %d holds %v, want %v", i, got, want)
		}
	}
}

func valuesOf(model validate.Model) (objects []*kubeconnectv1.Object) {
	for _, object := range model.Objects {
		objects = append(objects, object)
	}
	return objects
}
