package queries_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// "A token may be used more than once, and at any replica." "Each page is of the state at the
// list's resource_version."
func TestChecked_PagesOfEveryKindContinueAtAnyReplica(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	relation := func(of kubeconnectv1.RelationType, resource, name string, transitive bool) func(*kubeconnectv1.ListRequest) {
		return func(r *kubeconnectv1.ListRequest) {
			r.Related = &kubeconnectv1.Relation{Type: of, Resource: resource, Namespace: r.GetNamespace(), Name: name, Transitive: transitive}
		}
	}
	latest := func(change func(*kubeconnectv1.ListRequest)) func(*kubeconnectv1.ListRequest) {
		return func(r *kubeconnectv1.ListRequest) {
			change(r)
			r.Consistency, r.MinResourceVersion = kubeconnectv1.Consistency_CONSISTENCY_LATEST, ""
		}
	}
	order := func(by string) func(*kubeconnectv1.ListRequest) {
		return func(r *kubeconnectv1.ListRequest) { r.LabelSelector, r.OrderBy = "app=web", by }
	}
	filter := func(by string) func(*kubeconnectv1.ListRequest) {
		return func(r *kubeconnectv1.ListRequest) { r.Filter = by }
	}
	owned := relation(kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, "configmaps", "owner", false)
	ownedDeep := relation(kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, "configmaps", "owner", true)
	selected := relation(kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, "services", "front", false)
	cases := map[string]func(*kubeconnectv1.ListRequest){
		"all":           func(*kubeconnectv1.ListRequest) {},
		"labels":        func(r *kubeconnectv1.ListRequest) { r.LabelSelector = "app=web" },
		"labels not":    func(r *kubeconnectv1.ListRequest) { r.LabelSelector = "app!=db,rank notin (1)" },
		"no such label": func(r *kubeconnectv1.ListRequest) { r.LabelSelector = "!rank" },
		"fields":        func(r *kubeconnectv1.ListRequest) { r.FieldSelector = "status.phase=Pending,metadata.name!=p-03" },
		"filter":        filter("object.metadata.labels.rank != '1'"),
		"filter and order": func(r *kubeconnectv1.ListRequest) {
			filter("object.metadata.labels.rank != '1'")(r)
			order("metadata.name desc")(r)
		},
		"order":            order("metadata.labels.rank"),
		"order back":       order("metadata.labels.rank desc"),
		"order by two":     order("metadata.labels.rank desc, metadata.name desc"),
		"order by version": order("metadata.uid"),
		"order by nothing": order("metadata.labels.none desc"),
		"owned":            owned,
		"owned deeply":     ownedDeep,
		"selected":         selected,
		"selected ordered": func(r *kubeconnectv1.ListRequest) { selected(r); order("metadata.labels.rank")(r) },
		"metadata":         func(r *kubeconnectv1.ListRequest) { r.MetadataOnly = true },
		"fields only":      func(r *kubeconnectv1.ListRequest) { r.Fields = []string{"metadata.labels", "spec.containers[*].image"} },
		"protobuf":         func(r *kubeconnectv1.ListRequest) { r.Encoding = kubeconnectv1.Encoding_ENCODING_PROTOBUF },
		"latest":           latest(func(r *kubeconnectv1.ListRequest) { r.LabelSelector = "app=web" }),
		"latest filter":    latest(filter("object.metadata.labels.rank != '1'")),
		"latest order":     latest(order("metadata.labels.rank desc")),
		"latest owned":     latest(owned),
		"latest fields":    latest(func(r *kubeconnectv1.ListRequest) { r.FieldSelector = "metadata.name!=p-03" }),
	}
	replicas := kit.NewReplicas(t, kit.Cluster(t), 3)
	uncached := kit.NewReplicas(t, kit.Cluster(t), 2, "--uncached", "pods")
	for name, change := range cases {
		for kind, clients := range map[string][]kit.ResourceClient{"cached": replicas, "uncached": uncached} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				ctx := kit.Deadline(t)
				s := kit.NewPodSet(ctx, t, 12)
				request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, MinResourceVersion: s.Last, Encoding: kubeconnectv1.Encoding_ENCODING_JSON}
				change(request)
				var whole *kubeconnectv1.ListResponse
				for _, client := range clients { // the related object comes to each cache a moment later
					kit.Eventually(ctx, t, "the list can be read", func() (err error) {
						whole, err = client.List(ctx, request)
						return err
					})
				}
				if len(whole.GetObjects()) < 3 {
					t.Fatalf("the whole list has %v", kit.NamesOf(whole.GetObjects()))
				}
				request.PageSize = 2
				between := s.Disturb
				if name == "owned deeply" { // computed again for each page: only others may change
					between = func(page int, _ *kubeconnectv1.ListResponse) { s.CreateAlone(fmt.Sprint("p-0-", page)) }
				}
				kit.WantStates(t, kit.WalkPages(ctx, t, clients, request, between), whole.GetObjects())
			})
		}
	}
}

// As the API server lists it at that version, with changes all the time.
func TestChecked_PagesMatchTheAPIServerAtTheirVersion(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 12)
	replicas := kit.NewReplicas(t, kit.Cluster(t), 3)
	for _, client := range replicas {
		if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 6 {
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 3, Fields: []string{"metadata.name"}}
		version := ""
		got := kit.WalkPages(ctx, t, replicas, request, func(page int, last *kubeconnectv1.ListResponse) {
			version = last.GetResourceVersion()
			for i := range 4 {
				name := fmt.Sprintf("p-%02d", (round+page+3*i)%12)
				switch (round + i) % 4 {
				case 0:
					s.Delete(name)
					s.Create(name, kit.Labels{"app": "web"})
				case 1:
					s.Relabel("outside", fmt.Sprintf(`{"app":"web","n":"%d-%d"}`, round, page))
				case 2:
					s.Relabel("outside", `{"app":"db"}`)
				default:
					s.Delete(name)
					s.Create(name, kit.Labels{"app": "db"})
					s.Relabel(name, `{"app":"web"}`)
				}
			}
		})
		exact, err := kit.Cluster(t).Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, pod := range exact.Items {
			want = append(want, fmt.Sprintf("%s/%s %s at %s", pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion))
		}
		if got := kit.StatesOf(got); !slices.Equal(got, want) {
			t.Errorf("round %d, version %s: the pages have\n  %s\nwant\n  %s", round, version, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
}

// A page of exactly the last object, pages of other sizes, pages of nothing.
func TestChecked_PageSizesAreExactAtTheirBoundaries(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 4)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	request := func(size int32) *kubeconnectv1.ListRequest {
		return &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", MinResourceVersion: s.Last, PageSize: size}
	}
	for size, want := range map[int32]string{0: "", 1: "more", 3: "more", 4: "", 5: "", math.MaxInt32: ""} {
		page, err := clients[0].List(ctx, request(size))
		if err != nil {
			t.Fatal(err)
		}
		if (page.GetNextPageToken() != "") != (want != "") || int64(len(page.GetObjects()))+page.GetRemainingItemCount() != 4 {
			t.Errorf("page_size %d: %v, %d remain, token %q", size, kit.NamesOf(page.GetObjects()), page.GetRemainingItemCount(), page.GetNextPageToken())
		}
	}
	page, err := clients[0].List(ctx, request(3))
	if err != nil {
		t.Fatal(err)
	}
	s.Delete("p-03")
	s.Delete("p-02")
	for range 2 { // "more than once"
		for _, client := range clients {
			for _, size := range []int32{0, 1, 3, 100} {
				next := request(size)
				next.PageToken = page.GetNextPageToken()
				rest, err := client.List(ctx, next)
				if err != nil || !slices.Equal(kit.NamesOf(rest.GetObjects()), []string{"p-03"}) || rest.GetNextPageToken() != "" || rest.GetRemainingItemCount() != 0 {
					t.Errorf("page_size %d behind p-02: %v, %v", size, rest, err)
				}
			}
			next := request(-1)
			next.PageToken = page.GetNextPageToken()
			_, err := client.List(ctx, next)
			kit.WantError(t, err, connect.CodeInvalidArgument)
		}
	}
	_, err = clients[0].List(ctx, request(-1))
	kit.WantError(t, err, connect.CodeInvalidArgument)
	for _, nothing := range []*kubeconnectv1.ListRequest{
		{Resource: "pods", Namespace: "there-is-none-of-this-name", PageSize: 1},
		{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=none", PageSize: 1},
		{Resource: "pods", Namespace: s.Namespace, Filter: "false", PageSize: 1, OrderBy: "metadata.name desc"},
		{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=none", PageSize: 1, Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST},
	} {
		page, err := clients[0].List(ctx, nothing)
		if err != nil || len(page.GetObjects()) != 0 || page.GetNextPageToken() != "" || page.GetRemainingItemCount() != 0 || page.GetResourceVersion() == "" || page.GetResource().GetKind() != "Pod" {
			t.Errorf("%v: %v, %v", nothing, page, err)
		}
	}
}

// "a page ends before it would exceed about 3 MiB"
func TestChecked_PagesOfLargeObjectsContinueAtAnyReplica(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	namespace := kit.NewNamespace(ctx, t, in)
	write := kit.ConfigMapsIn(ctx, t, in, namespace)
	last := ""
	for i := range 8 {
		last = write.CreateBig(fmt.Sprintf("big-%d", i), kit.Labels{"app": "web"}).ResourceVersion
	}
	clients := kit.NewReplicas(t, in, 3)
	for _, order := range []string{"", "metadata.name desc"} {
		for _, consistency := range []kubeconnectv1.Consistency{kubeconnectv1.Consistency_CONSISTENCY_CACHED, kubeconnectv1.Consistency_CONSISTENCY_LATEST} {
			request := &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "app=web", OrderBy: order, Consistency: consistency}
			if consistency == kubeconnectv1.Consistency_CONSISTENCY_CACHED {
				request.MinResourceVersion = last
			}
			pages := 1
			got := kit.NamesOf(kit.WalkPages(ctx, t, clients, request, func(int, *kubeconnectv1.ListResponse) { pages++ }))
			if len(got) != 8 || pages < 3 {
				t.Errorf("order %q, %v: %d pages with %v", order, consistency, pages, got)
			}
		}
	}
}

// "A list with ... one of an aggregated API without resource versions, are computed again"; the
// component statuses have no versions either, and cannot be watched.
func TestChecked_PagesOfUnversionedObjectsAreComplete(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	whole, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: "componentstatuses", Fields: []string{"metadata.name"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.GetObjects()) < 2 {
		t.Skipf("there are only %v", kit.NamesOf(whole.GetObjects()))
	}
	for _, order := range []string{"", "metadata.name desc"} {
		got := kit.NamesOf(kit.WalkPages(ctx, t, clients, &kubeconnectv1.ListRequest{Resource: "componentstatuses", Fields: []string{"metadata.name"}, PageSize: 1, OrderBy: order}, nil))
		want := kit.NamesOf(whole.GetObjects())
		if order != "" {
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("order %q: %v, want %v", order, got, want)
		}
	}
}

// A replica is killed between two pages, another one started.
func TestChecked_PagesContinueAfterAReplicaIsReplaced(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	in := kit.Cluster(t)
	for name, change := range map[string]func(*kubeconnectv1.ListRequest){
		"plain":  func(*kubeconnectv1.ListRequest) {},
		"order":  func(r *kubeconnectv1.ListRequest) { r.OrderBy = "metadata.labels.rank desc" },
		"filter": func(r *kubeconnectv1.ListRequest) { r.Filter = "object.metadata.labels.rank != '1'" },
		"latest": func(r *kubeconnectv1.ListRequest) {
			r.Consistency, r.MinResourceVersion = kubeconnectv1.Consistency_CONSISTENCY_LATEST, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			s := kit.NewPodSet(ctx, t, 12)
			s.T = t
			first := harness.StartService(t, in.Kubeconfig)
			clients := append([]kit.ResourceClient{harness.Dial(harness.HTTP2(t), first.Address, harness.Connect).Resources}, kit.NewReplicas(t, in, 1)...)
			request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 2, MinResourceVersion: s.Last}
			change(request)
			whole, err := clients[0].List(ctx, kit.WithPageSize(request, 0))
			if err != nil {
				t.Fatal(err)
			}
			got := kit.WalkPages(ctx, t, clients[:1], kit.WithPageSize(request, 2), nil)
			kit.WantStates(t, got, whole.GetObjects())
			page, err := clients[0].List(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			objects := page.GetObjects()
			_ = first.Stop()
			s.Disturb(1, page)
			for i := 0; page.GetNextPageToken() != ""; i++ {
				request.PageToken = page.GetNextPageToken()
				if page, err = clients[1].List(ctx, request); err != nil {
					t.Fatalf("page %d: %v", i+2, err)
				}
				objects = append(objects, page.GetObjects()...)
				s.Disturb(i+2, page)
				clients[1] = kit.NewReplicas(t, in, 1)[0]
			}
			kit.WantStates(t, objects, whole.GetObjects())
		})
	}
}

// "`related` leads to something else by now": another owner of the name, another selector.
func TestChecked_PagesOfAChangedRelationExpire(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	in := kit.Cluster(t)
	clients := kit.NewReplicas(t, in, 2)
	for name, change := range map[string]func(*kit.PodSet){
		"another owner": func(s *kit.PodSet) {
			write := kit.ConfigMapsIn(ctx, s.T, in, s.Namespace)
			write.Delete("owner")
			write.Create("owner", nil)
		},
		"another selector": func(s *kit.PodSet) {
			services := in.Client.CoreV1().Services(s.Namespace)
			front, err := services.Get(ctx, "front", metav1.GetOptions{})
			if err != nil {
				s.T.Fatal(err)
			}
			front.Spec.Selector = kit.Labels{"app": "db"}
			if _, err := services.Update(ctx, front, metav1.UpdateOptions{}); err != nil {
				s.T.Fatal(err)
			}
		},
		"gone": func(s *kit.PodSet) { kit.ConfigMapsIn(ctx, s.T, in, s.Namespace).Delete("owner") },
	} {
		s := kit.NewPodSet(ctx, t, 6)
		related := &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: s.Namespace, Name: "owner"}
		if name == "another selector" {
			related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, Resource: "services", Namespace: s.Namespace, Name: "front"}
		}
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, PageSize: 2, MinResourceVersion: s.Last, Related: related}
		page, err := clients[0].List(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		request.PageToken = page.GetNextPageToken()
		for i, client := range clients {
			// The change comes to the cache a moment later.
			kit.Eventually(ctx, t, name+" is noticed", func() error {
				answer, err := client.List(ctx, request)
				if err == nil {
					return fmt.Errorf("replica %d answers %v", i, kit.NamesOf(answer.GetObjects()))
				}
				if name == "another owner" && connect.CodeOf(err) == connect.CodeNotFound {
					return fmt.Errorf("replica %d has not received the new owner: %w", i, err)
				}
				if !kit.IsExpired(err) && !(name == "gone" && connect.CodeOf(err) == connect.CodeNotFound) {
					t.Errorf("%s, replica %d: %v with status %v", name, i, err, kit.StatusIn(err))
				}
				return nil
			})
		}
	}
}
