package permissions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// eachWayToRead runs a test for lists from memory, of the latest, and of what is not cached.
func eachWayToRead(t *testing.T, test func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency)) {
	t.Helper()
	cached, uncached := kit.NewServices(t, 2), kit.NewServices(t, 2, "--uncached", "configmaps")
	for name, of := range map[string]struct {
		services    []*harness.Service
		consistency kubeconnectv1.Consistency
	}{"cached": {cached, 0}, "latest": {cached, kit.Latest}, "uncached": {uncached, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, of.services, of.consistency)
		})
	}
}

// "A caller with permissions in some namespaces gets the objects of those, and the answer says so:
// `namespaces` names what it covers, ... cached or not." On every page, at every replica.
func TestChecked_PagesCoverTheAllowedNamespaces(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := kit.NewMarkedNamespaces(kit.Deadline(t), t, services, 4, 3)
		clients := d.Clients(d.Reader)
		may := d.Namespaces[:3]
		d.UntilCovers(clients, consistency, may...)
		first, err := clients[0].List(d.Ctx, d.Request(consistency))
		if err != nil || !slices.Equal(first.GetNamespaces(), may) || len(first.GetWarnings()) == 0 {
			t.Errorf("the first page covers %v, and warns %q: %v", first.GetNamespaces(), first.GetWarnings(), err)
		}
		got := kit.KeysOfAll(kit.WalkPages(d.Ctx, t, clients, d.Request(consistency), func(page int, _ *kubeconnectv1.ListResponse) {
			write := kit.ConfigMapsIn(d.Ctx, t, kit.Cluster(t), may[(page+1)%3])
			write.Create(fmt.Sprint("b-", page), kit.Labels{"mark": d.Mark})
			if page == 2 {
				write.Delete("b")
				write.Create("b", kit.Labels{"mark": d.Mark})
			}
		}))
		if !slices.Equal(got, kit.KeysIn(may...)) {
			t.Errorf("the pages have %v, want %v", got, kit.KeysIn(may...))
		}
		request := d.Request(consistency)
		request.RequireAllNamespaces = true
		_, err = clients[0].List(d.Ctx, request)
		kit.WantError(t, err, connect.CodePermissionDenied)
		request.PageToken = first.GetNextPageToken()
		for _, client := range clients {
			// The words about page_token say Expired, those about the field PERMISSION_DENIED.
			if page, err := client.List(d.Ctx, request); !kit.IsExpired(err) && connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("with require_all_namespaces: %v, %v", kit.KeysOfAll(page.GetObjects()), err)
			}
		}
	})
}

// "the caller has lost the permission for a namespace of the list. Namespaces that the caller has
// gained meanwhile are left out".
func TestChecked_PagesExpireWhenANamespacePermissionIsLost(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := kit.NewMarkedNamespaces(kit.Deadline(t), t, services, 3, 2)
		clients := d.Clients(d.Reader)
		may := d.Namespaces[:2]
		d.UntilCovers(clients, consistency, may...)
		request := d.Request(consistency)
		first, err := clients[0].List(d.Ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		request.PageToken = first.GetNextPageToken()

		d.Grant(d.Namespaces[2])
		d.UntilCovers(clients, consistency, d.Namespaces...)
		for _, client := range clients {
			rest, err := client.List(d.Ctx, kit.WithPageSize(request, 0))
			if err != nil || !slices.Equal(kit.KeysOfAll(rest.GetObjects()), kit.KeysIn(may...)[1:]) || !slices.Equal(rest.GetNamespaces(), may) {
				t.Errorf("with a namespace more: %v of %v, %v", kit.KeysOfAll(rest.GetObjects()), rest.GetNamespaces(), err)
			}
		}

		d.Revoke(may[1])
		d.UntilCovers(clients, consistency, may[0], d.Namespaces[2])
		for _, client := range clients {
			page, err := client.List(d.Ctx, request)
			kit.WantExpiredPage(t, page, err)
		}

		d.Revoke(d.Namespaces[2])
		kit.Bind(d.Ctx, t, may[1], "reads-"+d.Mark, d.Reader.Subject())
		d.UntilCovers(clients, consistency, may...)
		for _, client := range clients {
			rest, err := client.List(d.Ctx, kit.WithPageSize(request, 0))
			if err != nil || !slices.Equal(kit.KeysOfAll(rest.GetObjects()), kit.KeysIn(may...)[1:]) {
				t.Errorf("with the namespace back: %v, %v", kit.KeysOfAll(rest.GetObjects()), err)
			}
		}

		d.Revoke(may[0])
		d.Revoke(may[1])
		for _, client := range clients {
			kit.Eventually(d.Ctx, t, "nothing may be read", func() error {
				page, err := client.List(d.Ctx, request)
				if err == nil {
					return fmt.Errorf("%v", kit.NamesOf(page.GetObjects()))
				}
				if !kit.IsExpired(err) && connect.CodeOf(err) != connect.CodePermissionDenied {
					t.Errorf("without any permission: %v", err)
				}
				t.Logf("without any permission: %v", connect.CodeOf(err))
				return nil
			})
		}
	})
}

// "permissions are checked on each page. It is no secret."
func TestChecked_PageTokenOfAnotherCallerGrantsNoPermission(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := kit.NewMarkedNamespaces(kit.Deadline(t), t, services, 3, 2)
		may := d.Namespaces[:2]
		all := kit.NewAccount(d.Ctx, t, d.Namespaces[0], "all")
		kit.GrantEverywhere(t, all, kit.Rule("configmaps", "list", "watch"))
		nobody := kit.NewAccount(d.Ctx, t, d.Namespaces[0], "nobody")
		allToo := kit.NewAccount(d.Ctx, t, d.Namespaces[0], "all-too")
		kit.GrantEverywhere(t, allToo, kit.Rule("configmaps", "list", "watch"))
		clients := map[string][]kit.ResourceClient{"reader": d.Clients(d.Reader), "all": d.Clients(all), "all too": d.Clients(allToo), "nobody": d.Clients(nobody)}
		d.UntilCovers(clients["reader"], consistency, may...)
		d.UntilCovers(clients["all"], consistency, d.Namespaces...)
		d.UntilCovers(clients["all too"], consistency, d.Namespaces...)
		tokens := map[string]*kubeconnectv1.ListRequest{}
		for _, of := range []string{"reader", "all"} {
			request := d.Request(consistency)
			page, err := clients[of][0].List(d.Ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			request.PageToken = page.GetNextPageToken()
			tokens[of] = kit.WithPageSize(request, 0)
		}
		kit.ConfigMapsIn(d.Ctx, t, kit.Cluster(t), may[1]).Delete("b")
		for i := range services {
			for _, of := range []string{"reader", "all"} {
				page, err := clients["nobody"][i].List(d.Ctx, tokens[of])
				if err == nil || !kit.IsExpired(err) && connect.CodeOf(err) != connect.CodePermissionDenied {
					t.Errorf("nobody with the token of %s: %v, %v", of, kit.KeysOfAll(page.GetObjects()), err)
				}
			}
			page, err := clients["reader"][i].List(d.Ctx, tokens["all"])
			if err == nil || !kit.IsExpired(err) {
				t.Errorf("the reader with the token of a list of all namespaces: %v, %v with status %v; want Expired", kit.KeysOfAll(page.GetObjects()), err, kit.StatusIn(err))
			}
			page, err = clients["all too"][i].List(d.Ctx, tokens["all"])
			if err != nil || !slices.Equal(kit.KeysOfAll(page.GetObjects()), kit.KeysIn(d.Namespaces...)[1:]) || len(page.GetNamespaces()) != 0 {
				t.Errorf("another with the token of a list of all namespaces, replica %d: %v, %v", i, kit.KeysOfAll(page.GetObjects()), err)
			}
			page, err = clients["all"][i].List(d.Ctx, tokens["reader"])
			if err != nil || !slices.Equal(kit.KeysOfAll(page.GetObjects()), kit.KeysIn(may...)[1:]) || !slices.Equal(page.GetNamespaces(), may) {
				t.Errorf("who may read all with the reader's token, replica %d: %v of %v, %v", i, kit.KeysOfAll(page.GetObjects()), page.GetNamespaces(), err)
			}
			withFlag := proto.CloneOf(tokens["reader"])
			withFlag.RequireAllNamespaces = true
			page, err = clients["all"][i].List(d.Ctx, withFlag)
			kit.WantExpiredPage(t, page, err)
			withFlag = proto.CloneOf(tokens["all"])
			withFlag.RequireAllNamespaces = true
			if _, err := clients["all"][i].List(d.Ctx, withFlag); err != nil {
				t.Errorf("a list of all, continued with require_all_namespaces: %v", err)
			}
		}
	})
}

// A caller whose permission for all namespaces ends between two pages, and who keeps one namespace.
func TestChecked_PagesExpireWithThePermissionForAllNamespaces(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := kit.NewMarkedNamespaces(kit.Deadline(t), t, services, 2, 2)
		revoke := kit.GrantEverywhere(t, d.Reader, kit.Rule("configmaps", "list", "watch"))
		clients := d.Clients(d.Reader)
		request := d.Request(consistency)
		var first *kubeconnectv1.ListResponse
		for _, client := range clients {
			kit.Eventually(d.Ctx, t, "all may be read", func() (err error) {
				if first, err = client.List(d.Ctx, request); err == nil && (len(first.GetNamespaces()) > 0 || first.GetRemainingItemCount() != 3) {
					err = fmt.Errorf("it covers %v", first.GetNamespaces())
				}
				return err
			})
		}
		request.PageToken = first.GetNextPageToken()
		revoke()
		for _, client := range clients {
			kit.Eventually(d.Ctx, t, "the loss is noticed", func() error {
				page, err := client.List(d.Ctx, request)
				if err == nil {
					return fmt.Errorf("%v", kit.KeysOfAll(page.GetObjects()))
				}
				if !kit.IsExpired(err) {
					t.Errorf("%v with status %v; want Expired", err, kit.StatusIn(err))
				}
				return nil
			})
			page, err := client.List(d.Ctx, kit.WithPageSize(d.Request(consistency), 0))
			if err != nil || !slices.Equal(page.GetNamespaces(), d.Namespaces) {
				t.Errorf("a new list covers %v: %v", page.GetNamespaces(), err)
			}
		}
	})
}

// A namespace is deleted between two pages: the list is of the state at its version, for who may
// read all; who could read by the namespace's own roles has lost the permission.
func TestChecked_PagesIncludeANamespaceDeletedMeanwhile(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := kit.NewMarkedNamespaces(kit.Deadline(t), t, services, 2, 2)
		all := kit.NewAccount(d.Ctx, t, d.Namespaces[0], "all")
		kit.GrantEverywhere(t, all, kit.Rule("configmaps", "list", "watch"))
		clients := map[string][]kit.ResourceClient{"reader": d.Clients(d.Reader), "all": d.Clients(all)}
		tokens := map[string]*kubeconnectv1.ListRequest{}
		for of, clients := range clients {
			d.UntilCovers(clients, consistency, d.Namespaces...)
			request := d.Request(consistency)
			page, err := clients[0].List(d.Ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			request.PageToken = page.GetNextPageToken()
			tokens[of] = kit.WithPageSize(request, 0)
		}
		namespaces := kit.Cluster(t).Client.CoreV1().Namespaces()
		if err := namespaces.Delete(d.Ctx, d.Namespaces[1], metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(d.Ctx, t, "the namespace is gone", func() error {
			_, err := namespaces.Get(d.Ctx, d.Namespaces[1], metav1.GetOptions{})
			if err == nil {
				return fmt.Errorf("it is there")
			}
			return kit.IgnoreNotFound(err)
		})
		for i := range services {
			page, err := clients["all"][i].List(d.Ctx, tokens["all"])
			if err != nil || !slices.Equal(kit.KeysOfAll(page.GetObjects()), kit.KeysIn(d.Namespaces...)[1:]) {
				t.Errorf("who may read all, replica %d: %v, %v", i, kit.KeysOfAll(page.GetObjects()), err)
			}
			kit.Eventually(d.Ctx, t, "the loss is noticed", func() error {
				page, err := clients["reader"][i].List(d.Ctx, tokens["reader"])
				if err == nil {
					return fmt.Errorf("%v", kit.KeysOfAll(page.GetObjects()))
				}
				if !kit.IsExpired(err) {
					t.Errorf("%v with status %v; want Expired", err, kit.StatusIn(err))
				}
				return nil
			})
		}
	})
}

// "where the names of the namespaces are longer than 2 KiB, they make the list expire too": what is
// unchanged continues, at any replica.
func TestChecked_PagesOfManyNamespacesExpireWhenOneIsGranted(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	services := kit.NewServices(t, 2)
	d := kit.NewMarkedNamespaces(ctx, t, services, 1, 1)
	for i := range 45 {
		name := fmt.Sprintf("%s-%s-%02d", d.Mark, strings.Repeat("n", 45), i)
		if _, err := kit.Cluster(t).Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), name).Create("a", kit.Labels{"mark": d.Mark})
		kit.ConfigMapsIn(ctx, t, kit.Cluster(t), name).Create("b", kit.Labels{"mark": d.Mark})
		d.Namespaces = append(d.Namespaces, name)
		if i < 44 {
			d.Grant(name)
		}
	}
	may := d.Namespaces[:45]
	for _, consistency := range []kubeconnectv1.Consistency{0, kit.Latest} {
		clients := d.Clients(d.Reader)
		d.UntilCovers(clients, consistency, may...)
		got := kit.KeysOfAll(kit.WalkPages(ctx, t, clients, kit.WithPageSize(d.Request(consistency), 13), nil))
		if !slices.Equal(got, kit.KeysIn(may...)) {
			t.Errorf("%v: the pages have %v", consistency, got)
		}
	}
	clients := d.Clients(d.Reader)
	request := d.Request(0)
	first, err := clients[0].List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	request.PageToken = first.GetNextPageToken()
	d.Grant(d.Namespaces[45])
	d.UntilCovers(clients, 0, d.Namespaces...)
	for _, client := range clients {
		page, err := client.List(ctx, request)
		kit.WantExpiredPage(t, page, err)
	}
}

// A count and a table are of what the caller may see.
func TestChecked_CountsAndTablesRespectPermissions(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := kit.NewMarkedNamespaces(kit.Deadline(t), t, services, 3, 2)
		clients := d.Clients(d.Reader)
		may := d.Namespaces[:2]
		d.UntilCovers(clients, consistency, may...)
		count := &kubeconnectv1.CountRequest{Resource: "configmaps", LabelSelector: "mark=" + d.Mark, Consistency: consistency, GroupBy: []string{"metadata.namespace"}}
		for _, client := range clients {
			answer, err := client.Count(d.Ctx, count)
			if err != nil || answer.GetTotalCount() != 4 || len(answer.GetGroups()) != 2 || !slices.Equal(answer.GetNamespaces(), may) || len(answer.GetWarnings()) == 0 {
				t.Errorf("the count is %v, %v", answer, err)
			}
			_, err = client.GetTable(d.Ctx, &kubeconnectv1.GetTableRequest{Resource: "configmaps", LabelSelector: "mark=" + d.Mark})
			kit.WantError(t, err, connect.CodePermissionDenied)
			table, err := client.GetTable(d.Ctx, &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: may[1], LabelSelector: "mark=" + d.Mark})
			if err != nil || len(table.GetRows()) != 2 {
				t.Errorf("the table is %v, %v", table, err)
			}
		}
		count.RequireAllNamespaces = true
		_, err := clients[0].Count(d.Ctx, count)
		kit.WantError(t, err, connect.CodePermissionDenied)
		nobody := kit.NewAccount(d.Ctx, t, d.Namespaces[0], "nobody")
		_, err = nobody.Calling(services[0], harness.GRPC).Resources.Count(d.Ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Consistency: consistency})
		kit.WantError(t, err, connect.CodePermissionDenied)
	})
}

// A table's token in the hands of another caller, and after the permission has ended.
func TestChecked_TableTokenGrantsNoPermission(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	services := kit.NewServices(t, 2)
	d := kit.NewMarkedNamespaces(ctx, t, services, 2, 1)
	clients := d.Clients(d.Reader)
	d.UntilCovers(clients, 0, d.Namespaces[0])
	request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: d.Namespaces[0], LabelSelector: "mark=" + d.Mark, PageSize: 1}
	page, err := clients[0].GetTable(ctx, request)
	if err != nil || len(page.GetRows()) != 1 || page.GetNextPageToken() == "" {
		t.Fatalf("%v, %v", page, err)
	}
	request.PageToken = page.GetNextPageToken()
	nobody := kit.NewAccount(ctx, t, d.Namespaces[0], "nobody")
	_, err = nobody.Calling(services[1], harness.GRPC).Resources.GetTable(ctx, request)
	kit.WantError(t, err, connect.CodePermissionDenied)
	next, err := clients[1].GetTable(ctx, request)
	if err != nil || len(next.GetRows()) != 1 || next.GetRows()[0].GetName() != "b" || next.GetResourceVersion() != page.GetResourceVersion() {
		t.Errorf("the next page, at another replica: %v, %v", next, err)
	}
	d.Revoke(d.Namespaces[0])
	kit.Eventually(ctx, t, "the loss is noticed", func() error {
		_, err := clients[1].GetTable(ctx, request)
		return kit.HasCode(err, connect.CodePermissionDenied)
	})
}
