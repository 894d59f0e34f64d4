package kit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// MarkedNamespaces is some namespaces with two marked ConfigMaps in each, and an account that may read some.
type MarkedNamespaces struct {
	Ctx        context.Context
	t          *testing.T
	Mark       string
	Namespaces []string
	Reader     Account
	services   []*harness.Service
}

// NewMarkedNamespaces creates namespaces and an account with permission to read the first of them.
func NewMarkedNamespaces(ctx context.Context, t *testing.T, services []*harness.Service, namespaces, may int) *MarkedNamespaces {
	t.Helper()
	d := &MarkedNamespaces{Ctx: ctx, t: t, services: services}
	for range namespaces {
		d.Namespaces = append(d.Namespaces, NewNamespace(ctx, t, Cluster(t)))
	}
	slices.Sort(d.Namespaces)
	d.Mark = d.Namespaces[0]
	for _, namespace := range d.Namespaces {
		for _, name := range []string{"a", "b"} {
			ConfigMapsIn(ctx, t, Cluster(t), namespace).Create(name, Labels{"mark": d.Mark})
		}
	}
	d.Reader = NewAccount(ctx, t, d.Namespaces[0], "reader")
	for _, namespace := range d.Namespaces[:may] {
		d.Grant(namespace)
	}
	return d
}

// Grant grants the account permission to read a namespace.
func (d *MarkedNamespaces) Grant(namespace string) {
	d.t.Helper()
	d.Reader.GrantIn(namespace, "reads-"+d.Mark, Rule("configmaps", "list", "watch"))
}

// Revoke revokes what Grant has granted.
func (d *MarkedNamespaces) Revoke(namespace string) { d.Reader.RevokeIn(namespace, "reads-"+d.Mark) }

// Request returns a list request for all marked ConfigMaps, one a page.
func (d *MarkedNamespaces) Request(consistency kubeconnectv1.Consistency) *kubeconnectv1.ListRequest {
	return &kubeconnectv1.ListRequest{Resource: "configmaps", LabelSelector: "mark=" + d.Mark, PageSize: 1, Consistency: consistency}
}

// Clients are one of each service for an account.
func (d *MarkedNamespaces) Clients(of Account) (clients []ResourceClient) {
	for _, service := range d.services {
		clients = append(clients, of.Calling(service, harness.GRPC).Resources)
	}
	return clients
}

// KeysIn returns the keys of the objects of some namespaces.
func KeysIn(namespaces ...string) (keys []string) {
	for _, namespace := range namespaces {
		keys = append(keys, namespace+"/a", namespace+"/b")
	}
	return keys
}

// KeysOfAll returns the keys of objects, as namespace/name.
func KeysOfAll(objects []*kubeconnectv1.Object) (keys []string) {
	for _, object := range objects {
		keys = append(keys, object.GetNamespace()+"/"+object.GetName())
	}
	return keys
}

// UntilCovers waits until a list of all namespaces has exactly the objects of some.
func (d *MarkedNamespaces) UntilCovers(clients []ResourceClient, consistency kubeconnectv1.Consistency, namespaces ...string) {
	d.t.Helper()
	for _, client := range clients {
		Eventually(d.Ctx, d.t, "the permissions are noticed", func() error {
			page, err := client.List(d.Ctx, WithPageSize(d.Request(consistency), 0))
			if err != nil {
				return err
			}
			if got := KeysOfAll(page.GetObjects()); !slices.Equal(got, KeysIn(namespaces...)) {
				return fmt.Errorf("%v", got)
			}
			return nil
		})
	}
}

// NewServices starts services that authenticate their callers.
func NewServices(t *testing.T, count int, flags ...string) (services []*harness.Service) {
	t.Helper()
	for range count {
		services = append(services, StartForCallers(t, flags...))
	}
	return services
}
