package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// district is some namespaces with two marked ConfigMaps in each, and an account that may read some.
type district struct {
	ctx        context.Context
	t          *testing.T
	mark       string
	namespaces []string
	reader     account
	services   []*harness.Service
}

func newDistrict(ctx context.Context, t *testing.T, services []*harness.Service, namespaces, may int) *district {
	t.Helper()
	d := &district{ctx: ctx, t: t, services: services}
	for range namespaces {
		d.namespaces = append(d.namespaces, newNamespace(ctx, t, cluster(t)))
	}
	slices.Sort(d.namespaces)
	d.mark = d.namespaces[0]
	for _, namespace := range d.namespaces {
		for _, name := range []string{"a", "b"} {
			configMapsIn(ctx, t, cluster(t), namespace).create(name, labels{"district": d.mark})
		}
	}
	d.reader = newAccount(ctx, t, d.namespaces[0], "reader")
	for _, namespace := range d.namespaces[:may] {
		d.grant(namespace)
	}
	return d
}

func (d *district) grant(namespace string) {
	d.t.Helper()
	d.reader.grantIn(namespace, "reads-"+d.mark, rule("configmaps", "list", "watch"))
}

func (d *district) revoke(namespace string) { d.reader.revokeIn(namespace, "reads-"+d.mark) }

func (d *district) request(consistency kubeconnectv1.Consistency) *kubeconnectv1.ListRequest {
	return &kubeconnectv1.ListRequest{Resource: "configmaps", LabelSelector: "district=" + d.mark, PageSize: 1, Consistency: consistency}
}

// clients are one of each service for an account.
func (d *district) clients(of account) (clients []resourceClient) {
	for _, service := range d.services {
		clients = append(clients, of.calling(service, harness.GRPC).Resources)
	}
	return clients
}

// keysIn returns the keys of the objects of some namespaces.
func keysIn(namespaces ...string) (keys []string) {
	for _, namespace := range namespaces {
		keys = append(keys, namespace+"/a", namespace+"/b")
	}
	return keys
}

func keysOfAll(objects []*kubeconnectv1.Object) (keys []string) {
	for _, object := range objects {
		keys = append(keys, object.GetNamespace()+"/"+object.GetName())
	}
	return keys
}

// untilCovers waits until a list of all namespaces has exactly the objects of some.
func (d *district) untilCovers(clients []resourceClient, consistency kubeconnectv1.Consistency, namespaces ...string) {
	d.t.Helper()
	for _, client := range clients {
		eventually(d.ctx, d.t, "the permissions are noticed", func() error {
			page, err := client.List(d.ctx, withPageSize(d.request(consistency), 0))
			if err != nil {
				return err
			}
			if got := keysOfAll(page.GetObjects()); !slices.Equal(got, keysIn(namespaces...)) {
				return fmt.Errorf("%v", got)
			}
			return nil
		})
	}
}

func checkedServices(t *testing.T, count int, flags ...string) (services []*harness.Service) {
	t.Helper()
	for range count {
		services = append(services, startForCallers(t, flags...))
	}
	return services
}

// eachWayToRead runs a test for lists from memory, of the latest, and of what is not cached.
func eachWayToRead(t *testing.T, test func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency)) {
	t.Helper()
	cached, uncached := checkedServices(t, 2), checkedServices(t, 2, "--uncached", "configmaps")
	for name, of := range map[string]struct {
		services    []*harness.Service
		consistency kubeconnectv1.Consistency
	}{"cached": {cached, 0}, "latest": {cached, latest}, "uncached": {uncached, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, of.services, of.consistency)
		})
	}
}

// "A caller with permissions in some namespaces gets the objects of those, and the answer says so:
// `namespaces` names what it covers, ... cached or not." On every page, at every replica.
func TestChecked_PagesCoverTheAllowedNamespaces(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := newDistrict(deadline(t), t, services, 4, 3)
		clients := d.clients(d.reader)
		may := d.namespaces[:3]
		d.untilCovers(clients, consistency, may...)
		first, err := clients[0].List(d.ctx, d.request(consistency))
		if err != nil || !slices.Equal(first.GetNamespaces(), may) || len(first.GetWarnings()) == 0 {
			t.Errorf("the first page covers %v, and warns %q: %v", first.GetNamespaces(), first.GetWarnings(), err)
		}
		got := keysOfAll(walkPages(d.ctx, t, clients, d.request(consistency), func(page int, _ *kubeconnectv1.ListResponse) {
			write := configMapsIn(d.ctx, t, cluster(t), may[(page+1)%3])
			write.create(fmt.Sprint("b-", page), labels{"district": d.mark})
			if page == 2 {
				write.delete("b")
				write.create("b", labels{"district": d.mark})
			}
		}))
		if !slices.Equal(got, keysIn(may...)) {
			t.Errorf("the pages have %v, want %v", got, keysIn(may...))
		}
		request := d.request(consistency)
		request.RequireAllNamespaces = true
		_, err = clients[0].List(d.ctx, request)
		wantError(t, err, connect.CodePermissionDenied)
		request.PageToken = first.GetNextPageToken()
		for _, client := range clients {
			// The words about page_token say Expired, those about the field PERMISSION_DENIED.
			if page, err := client.List(d.ctx, request); !isExpired(err) && connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("with require_all_namespaces: %v, %v", keysOfAll(page.GetObjects()), err)
			}
		}
	})
}

// "the caller has lost the permission for a namespace of the list. Namespaces that the caller has
// gained meanwhile are left out".
func TestChecked_PagesExpireWhenANamespacePermissionIsLost(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := newDistrict(deadline(t), t, services, 3, 2)
		clients := d.clients(d.reader)
		may := d.namespaces[:2]
		d.untilCovers(clients, consistency, may...)
		request := d.request(consistency)
		first, err := clients[0].List(d.ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		request.PageToken = first.GetNextPageToken()

		d.grant(d.namespaces[2])
		d.untilCovers(clients, consistency, d.namespaces...)
		for _, client := range clients {
			rest, err := client.List(d.ctx, withPageSize(request, 0))
			if err != nil || !slices.Equal(keysOfAll(rest.GetObjects()), keysIn(may...)[1:]) || !slices.Equal(rest.GetNamespaces(), may) {
				t.Errorf("with a namespace more: %v of %v, %v", keysOfAll(rest.GetObjects()), rest.GetNamespaces(), err)
			}
		}

		d.revoke(may[1])
		d.untilCovers(clients, consistency, may[0], d.namespaces[2])
		for _, client := range clients {
			page, err := client.List(d.ctx, request)
			wantExpiredPage(t, page, err)
		}

		d.revoke(d.namespaces[2])
		bind(d.ctx, t, may[1], "reads-"+d.mark, d.reader.subject())
		d.untilCovers(clients, consistency, may...)
		for _, client := range clients {
			rest, err := client.List(d.ctx, withPageSize(request, 0))
			if err != nil || !slices.Equal(keysOfAll(rest.GetObjects()), keysIn(may...)[1:]) {
				t.Errorf("with the namespace back: %v, %v", keysOfAll(rest.GetObjects()), err)
			}
		}

		d.revoke(may[0])
		d.revoke(may[1])
		for _, client := range clients {
			eventually(d.ctx, t, "nothing may be read", func() error {
				page, err := client.List(d.ctx, request)
				if err == nil {
					return fmt.Errorf("%v", namesOf(page.GetObjects()))
				}
				if !isExpired(err) && connect.CodeOf(err) != connect.CodePermissionDenied {
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
	soakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := newDistrict(deadline(t), t, services, 3, 2)
		may := d.namespaces[:2]
		all := newAccount(d.ctx, t, d.namespaces[0], "all")
		mayEverywhere(t, all, rule("configmaps", "list", "watch"))
		nobody := newAccount(d.ctx, t, d.namespaces[0], "nobody")
		allToo := newAccount(d.ctx, t, d.namespaces[0], "all-too")
		mayEverywhere(t, allToo, rule("configmaps", "list", "watch"))
		clients := map[string][]resourceClient{"reader": d.clients(d.reader), "all": d.clients(all), "all too": d.clients(allToo), "nobody": d.clients(nobody)}
		d.untilCovers(clients["reader"], consistency, may...)
		d.untilCovers(clients["all"], consistency, d.namespaces...)
		d.untilCovers(clients["all too"], consistency, d.namespaces...)
		tokens := map[string]*kubeconnectv1.ListRequest{}
		for _, of := range []string{"reader", "all"} {
			request := d.request(consistency)
			page, err := clients[of][0].List(d.ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			request.PageToken = page.GetNextPageToken()
			tokens[of] = withPageSize(request, 0)
		}
		configMapsIn(d.ctx, t, cluster(t), may[1]).delete("b")
		for i := range services {
			for _, of := range []string{"reader", "all"} {
				page, err := clients["nobody"][i].List(d.ctx, tokens[of])
				if err == nil || !isExpired(err) && connect.CodeOf(err) != connect.CodePermissionDenied {
					t.Errorf("nobody with the token of %s: %v, %v", of, keysOfAll(page.GetObjects()), err)
				}
			}
			page, err := clients["reader"][i].List(d.ctx, tokens["all"])
			if err == nil || !isExpired(err) {
				t.Errorf("the reader with the token of a list of all namespaces: %v, %v with status %v; want Expired", keysOfAll(page.GetObjects()), err, statusIn(err))
			}
			page, err = clients["all too"][i].List(d.ctx, tokens["all"])
			if err != nil || !slices.Equal(keysOfAll(page.GetObjects()), keysIn(d.namespaces...)[1:]) || len(page.GetNamespaces()) != 0 {
				t.Errorf("another with the token of a list of all namespaces, replica %d: %v, %v", i, keysOfAll(page.GetObjects()), err)
			}
			page, err = clients["all"][i].List(d.ctx, tokens["reader"])
			if err != nil || !slices.Equal(keysOfAll(page.GetObjects()), keysIn(may...)[1:]) || !slices.Equal(page.GetNamespaces(), may) {
				t.Errorf("who may read all with the reader's token, replica %d: %v of %v, %v", i, keysOfAll(page.GetObjects()), page.GetNamespaces(), err)
			}
			withFlag := proto.CloneOf(tokens["reader"])
			withFlag.RequireAllNamespaces = true
			page, err = clients["all"][i].List(d.ctx, withFlag)
			wantExpiredPage(t, page, err)
			withFlag = proto.CloneOf(tokens["all"])
			withFlag.RequireAllNamespaces = true
			if _, err := clients["all"][i].List(d.ctx, withFlag); err != nil {
				t.Errorf("a list of all, continued with require_all_namespaces: %v", err)
			}
		}
	})
}

// A caller whose permission for all namespaces ends between two pages, and who keeps one namespace.
func TestChecked_PagesExpireWithThePermissionForAllNamespaces(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := newDistrict(deadline(t), t, services, 2, 2)
		revoke := mayEverywhere(t, d.reader, rule("configmaps", "list", "watch"))
		clients := d.clients(d.reader)
		request := d.request(consistency)
		var first *kubeconnectv1.ListResponse
		for _, client := range clients {
			eventually(d.ctx, t, "all may be read", func() (err error) {
				if first, err = client.List(d.ctx, request); err == nil && (len(first.GetNamespaces()) > 0 || first.GetRemaining() != 3) {
					err = fmt.Errorf("it covers %v", first.GetNamespaces())
				}
				return err
			})
		}
		request.PageToken = first.GetNextPageToken()
		revoke()
		for _, client := range clients {
			eventually(d.ctx, t, "the loss is noticed", func() error {
				page, err := client.List(d.ctx, request)
				if err == nil {
					return fmt.Errorf("%v", keysOfAll(page.GetObjects()))
				}
				if !isExpired(err) {
					t.Errorf("%v with status %v; want Expired", err, statusIn(err))
				}
				return nil
			})
			page, err := client.List(d.ctx, withPageSize(d.request(consistency), 0))
			if err != nil || !slices.Equal(page.GetNamespaces(), d.namespaces) {
				t.Errorf("a new list covers %v: %v", page.GetNamespaces(), err)
			}
		}
	})
}

// A namespace is deleted between two pages: the list is of the state at its version, for who may
// read all; who could read by the namespace's own roles has lost the permission.
func TestChecked_PagesIncludeANamespaceDeletedMeanwhile(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := newDistrict(deadline(t), t, services, 2, 2)
		all := newAccount(d.ctx, t, d.namespaces[0], "all")
		mayEverywhere(t, all, rule("configmaps", "list", "watch"))
		clients := map[string][]resourceClient{"reader": d.clients(d.reader), "all": d.clients(all)}
		tokens := map[string]*kubeconnectv1.ListRequest{}
		for of, clients := range clients {
			d.untilCovers(clients, consistency, d.namespaces...)
			request := d.request(consistency)
			page, err := clients[0].List(d.ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			request.PageToken = page.GetNextPageToken()
			tokens[of] = withPageSize(request, 0)
		}
		namespaces := cluster(t).Client.CoreV1().Namespaces()
		if err := namespaces.Delete(d.ctx, d.namespaces[1], metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(d.ctx, t, "the namespace is gone", func() error {
			_, err := namespaces.Get(d.ctx, d.namespaces[1], metav1.GetOptions{})
			if err == nil {
				return fmt.Errorf("it is there")
			}
			return ignoreNotFound(err)
		})
		for i := range services {
			page, err := clients["all"][i].List(d.ctx, tokens["all"])
			if err != nil || !slices.Equal(keysOfAll(page.GetObjects()), keysIn(d.namespaces...)[1:]) {
				t.Errorf("who may read all, replica %d: %v, %v", i, keysOfAll(page.GetObjects()), err)
			}
			eventually(d.ctx, t, "the loss is noticed", func() error {
				page, err := clients["reader"][i].List(d.ctx, tokens["reader"])
				if err == nil {
					return fmt.Errorf("%v", keysOfAll(page.GetObjects()))
				}
				if !isExpired(err) {
					t.Errorf("%v with status %v; want Expired", err, statusIn(err))
				}
				return nil
			})
		}
	})
}

// "where the names of the namespaces are longer than 2 KiB, they make the list expire too": what is
// unchanged continues, at any replica.
func TestChecked_PagesOfManyNamespacesExpireWhenOneIsGranted(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	services := checkedServices(t, 2)
	d := newDistrict(ctx, t, services, 1, 1)
	for i := range 45 {
		name := fmt.Sprintf("%s-%s-%02d", d.mark, strings.Repeat("n", 45), i)
		if _, err := cluster(t).Client.CoreV1().Namespaces().Create(ctx, namespaceOf(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		configMapsIn(ctx, t, cluster(t), name).create("a", labels{"district": d.mark})
		configMapsIn(ctx, t, cluster(t), name).create("b", labels{"district": d.mark})
		d.namespaces = append(d.namespaces, name)
		if i < 44 {
			d.grant(name)
		}
	}
	may := d.namespaces[:45]
	for _, consistency := range []kubeconnectv1.Consistency{0, latest} {
		clients := d.clients(d.reader)
		d.untilCovers(clients, consistency, may...)
		got := keysOfAll(walkPages(ctx, t, clients, withPageSize(d.request(consistency), 13), nil))
		if !slices.Equal(got, keysIn(may...)) {
			t.Errorf("%v: the pages have %v", consistency, got)
		}
	}
	clients := d.clients(d.reader)
	request := d.request(0)
	first, err := clients[0].List(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	request.PageToken = first.GetNextPageToken()
	d.grant(d.namespaces[45])
	d.untilCovers(clients, 0, d.namespaces...)
	for _, client := range clients {
		page, err := client.List(ctx, request)
		wantExpiredPage(t, page, err)
	}
}

// A count and a table are of what the caller may see.
func TestChecked_CountsAndTablesRespectPermissions(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	eachWayToRead(t, func(t *testing.T, services []*harness.Service, consistency kubeconnectv1.Consistency) {
		d := newDistrict(deadline(t), t, services, 3, 2)
		clients := d.clients(d.reader)
		may := d.namespaces[:2]
		d.untilCovers(clients, consistency, may...)
		count := &kubeconnectv1.CountObjectsRequest{Resource: "configmaps", LabelSelector: "district=" + d.mark, Consistency: consistency, GroupBy: []string{"metadata.namespace"}}
		for _, client := range clients {
			answer, err := client.CountObjects(d.ctx, count)
			if err != nil || answer.GetTotal() != 4 || len(answer.GetGroups()) != 2 || !slices.Equal(answer.GetNamespaces(), may) || len(answer.GetWarnings()) == 0 {
				t.Errorf("the count is %v, %v", answer, err)
			}
			_, err = client.GetTable(d.ctx, &kubeconnectv1.GetTableRequest{Resource: "configmaps", LabelSelector: "district=" + d.mark})
			wantError(t, err, connect.CodePermissionDenied)
			table, err := client.GetTable(d.ctx, &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: may[1], LabelSelector: "district=" + d.mark})
			if err != nil || len(table.GetRows()) != 2 {
				t.Errorf("the table is %v, %v", table, err)
			}
		}
		count.RequireAllNamespaces = true
		_, err := clients[0].CountObjects(d.ctx, count)
		wantError(t, err, connect.CodePermissionDenied)
		nobody := newAccount(d.ctx, t, d.namespaces[0], "nobody")
		_, err = nobody.calling(services[0], harness.GRPC).Resources.CountObjects(d.ctx, &kubeconnectv1.CountObjectsRequest{Resource: "configmaps", Consistency: consistency})
		wantError(t, err, connect.CodePermissionDenied)
	})
}

// A table's token in the hands of another caller, and after the permission has ended.
func TestChecked_TableTokenGrantsNoPermission(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	ctx := deadline(t)
	services := checkedServices(t, 2)
	d := newDistrict(ctx, t, services, 2, 1)
	clients := d.clients(d.reader)
	d.untilCovers(clients, 0, d.namespaces[0])
	request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: d.namespaces[0], LabelSelector: "district=" + d.mark, PageSize: 1}
	page, err := clients[0].GetTable(ctx, request)
	if err != nil || len(page.GetRows()) != 1 || page.GetNextPageToken() == "" {
		t.Fatalf("%v, %v", page, err)
	}
	request.PageToken = page.GetNextPageToken()
	nobody := newAccount(ctx, t, d.namespaces[0], "nobody")
	_, err = nobody.calling(services[1], harness.GRPC).Resources.GetTable(ctx, request)
	wantError(t, err, connect.CodePermissionDenied)
	next, err := clients[1].GetTable(ctx, request)
	if err != nil || len(next.GetRows()) != 1 || next.GetRows()[0].GetName() != "b" || next.GetResourceVersion() != page.GetResourceVersion() {
		t.Errorf("the next page, at another replica: %v, %v", next, err)
	}
	d.revoke(d.namespaces[0])
	eventually(ctx, t, "the loss is noticed", func() error {
		_, err := clients[1].GetTable(ctx, request)
		return hasCode(err, connect.CodePermissionDenied)
	})
}
