package queries_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// discoverOverEachProtocol runs a test for each protocol in parallel, with clients of one service.
func discoverOverEachProtocol(t *testing.T, test func(*testing.T, kit.DiscoveryClient)) {
	t.Helper()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Discovery)
		})
	}
}

func TestResourceTypes_MatchClientGo(t *testing.T) {
	t.Parallel()
	discoverOverEachProtocol(t, func(t *testing.T, client kit.DiscoveryClient) {
		ctx := kit.Deadline(t)
		var got []string
		for _, resourceType := range kit.ListTypes(ctx, t, client, "").GetResourceTypes() {
			got = append(got, lineOf(resourceType))
		}
		got = slices.DeleteFunc(got, ofATest)
		want := typesByClientGo(t)
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 50 {
			t.Errorf("%d types (-client-go +kubeconnect):\n%s", len(want), diff)
		}
	})
}

// ofATest reports whether a type may be created or deleted by a concurrent test.
func ofATest(line string) bool {
	group, _, _ := strings.Cut(line, "/")
	return strings.HasSuffix(group, ".example.com")
}

// lineOf formats all fields of a type except its cache.
func lineOf(resourceType *kubeconnectv1.ResourceType) string {
	kind := resourceType.GetResource()
	return fmt.Sprint(kind.GetGroup(), "/", kind.GetVersion(), "/", kind.GetPlural(), " ", kind.GetKind(), " ", kind.GetNamespaced(), " ",
		resourceType.GetSingular(), resourceType.GetShortNames(), resourceType.GetCategories(), resourceType.GetVerbs(), resourceType.GetSubresources(), resourceType.GetVersions())
}

// typesByClientGo returns the types that client-go finds, except those of tests, in order of group
// and name.
func typesByClientGo(t *testing.T) (lines []string) {
	t.Helper()
	preferred, err := kit.Cluster(t).Client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	groups, all, err := kit.Cluster(t).Client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var found []*kubeconnectv1.ResourceType
	for _, list := range preferred {
		if ofATest(list.GroupVersion) {
			continue // it may be in only one of the two responses
		}
		for _, resource := range list.APIResources {
			found = append(found, typeByClientGo(t, list.GroupVersion, resource, groups, all))
		}
	}
	slices.SortFunc(found, func(a, b *kubeconnectv1.ResourceType) int {
		return slices.Compare([]string{a.GetResource().GetGroup(), a.GetResource().GetPlural()}, []string{b.GetResource().GetGroup(), b.GetResource().GetPlural()})
	})
	for _, resourceType := range found {
		lines = append(lines, lineOf(resourceType))
	}
	return lines
}

func typeByClientGo(t *testing.T, groupVersionName string, resource metav1.APIResource, groups []*metav1.APIGroup, all []*metav1.APIResourceList) *kubeconnectv1.ResourceType {
	t.Helper()
	groupVersion, err := schema.ParseGroupVersion(groupVersionName)
	if err != nil {
		t.Fatal(err)
	}
	result := &kubeconnectv1.ResourceType{
		Resource: &kubeconnectv1.Resource{
			Group: groupVersion.Group, Version: groupVersion.Version, Plural: resource.Name, Kind: resource.Kind, Namespaced: resource.Namespaced,
		},
		Singular: resource.SingularName, ShortNames: resource.ShortNames, Categories: resource.Categories, Verbs: resource.Verbs,
		Versions: []string{groupVersion.Version},
	}
	for _, group := range groups {
		for _, version := range group.Versions {
			list := listIn(all, version.GroupVersion)
			if group.Name == groupVersion.Group && version.Version != groupVersion.Version && list != nil && slices.ContainsFunc(list.APIResources, func(other metav1.APIResource) bool { return other.Name == resource.Name }) {
				result.Versions = append(result.Versions, version.Version)
			}
		}
	}
	for _, other := range listIn(all, groupVersionName).APIResources {
		if name, ok := strings.CutPrefix(other.Name, resource.Name+"/"); ok {
			result.Subresources = append(result.Subresources, name)
		}
	}
	slices.Sort(result.GetSubresources())
	return result
}

func listIn(all []*metav1.APIResourceList, groupVersion string) *metav1.APIResourceList {
	for _, list := range all {
		if list.GroupVersion == groupVersion {
			return list
		}
	}
	return nil
}

func TestResourceTypes_FollowACRD(t *testing.T) {
	t.Parallel()
	discoverOverEachProtocol(t, func(t *testing.T, client kit.DiscoveryClient) {
		ctx := kit.Deadline(t)
		gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), kit.NewNamespace(ctx, t, kit.Cluster(t)))
		want := func(description, line string) {
			t.Helper()
			kit.Eventually(ctx, t, description, func() error {
				var got []string
				for _, resourceType := range kit.ListTypes(ctx, t, client, gadgets.Group).GetResourceTypes() {
					got = append(got, lineOf(resourceType))
				}
				if strings.Join(got, "\n") != line {
					return fmt.Errorf("listed %q, want %q", got, line)
				}
				return nil
			})
		}
		line := func(version, short, versions string) string {
			return fmt.Sprintf("%s/%s/gadgets Gadget true gadget[%s] [] [delete deletecollection get list patch create update watch] [status] [%s]", gadgets.Group, version, short, versions)
		}
		want("it does not exist", "")
		gadgets.Define("v1")
		want("it is created", line("v1", "gd", "v1"))
		gadgets.RenameShort("gdt")
		want("it has another short name", line("v1", "gdt", "v1"))
		gadgets.Serve([]string{"v1", "v2"}, nil)
		want("it has another version", line("v2", "gd", "v2 v1"))
		gadgets.Remove()
		want("it is deleted", "")
	})
}

func TestResourceTypes_ReportTheStateOfTheCache(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			clients := harness.Dial(harness.HTTP2(t), service.Address, protocol)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
			gadgets.Define("v1")
			gadgets.Create("v1", namespace, "one", nil)
			kit.Eventually(ctx, t, "the type is listed", func() error {
				if resourceType := kit.TypeOf(kit.ListTypes(ctx, t, clients.Discovery, gadgets.Group), "gadgets"); resourceType == nil || resourceType.GetCache() != nil {
					return fmt.Errorf("type %v", resourceType)
				}
				return nil
			})
			kit.UntilListed(ctx, t, clients.Resources, gadgets)
			wantCached(ctx, t, clients.Discovery, gadgets.Group, 1)
			gadgets.Create("v1", namespace, "two", map[string]any{"color": "red"})
			wantCached(ctx, t, clients.Discovery, gadgets.Group, 2)
		})
	}
}

// wantCached blocks until the reported number of cached gadgets is count.
func wantCached(ctx context.Context, t *testing.T, client kit.DiscoveryClient, group string, count int64) {
	t.Helper()
	kit.Eventually(ctx, t, fmt.Sprint(count, " objects are reported"), func() error {
		state := kit.TypeOf(kit.ListTypes(ctx, t, client, group), "gadgets").GetCache()
		if !state.GetRunning() || !state.GetSynced() || state.GetObjectCount() != count || state.GetSizeBytes() < 100*count ||
			state.GetResourceVersion() == "" || state.GetFreshness().GetStale() || state.GetFreshness().GetLastContactTime() == nil {
			return fmt.Errorf("cache %v", state)
		}
		return nil
	})
}

func TestResourceTypes_CacheStateNeedsListPermission(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	service := kit.StartForCallers(t)
	all, some, none := kit.NewAccount(ctx, t, namespace, "all"), kit.NewAccount(ctx, t, namespace, "some"), kit.NewAccount(ctx, t, namespace, "none")
	kit.GrantAdmin(ctx, t, all)
	some.GrantIn(namespace, "some", kit.Rule("secrets", "get", "list", "watch"))
	for _, reader := range []kit.Account{all, some} {
		kit.Eventually(ctx, t, reader.Name+" has permission to read", func() error {
			_, err := reader.Calling(service, harness.Connect).Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "secrets"})
			return err
		})
	}
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			if state := kit.TypeOf(kit.ListTypes(ctx, t, all.Calling(service, protocol).Discovery, ""), "secrets").GetCache(); !state.GetSynced() {
				t.Errorf("a caller with permission to list all Secrets receives %v", state)
			}
			for _, caller := range []kit.Account{some, none} {
				list := kit.ListTypes(ctx, t, caller.Calling(service, protocol).Discovery, "")
				for _, resourceType := range list.GetResourceTypes() {
					if resourceType.GetCache() != nil {
						t.Errorf("%s receives %v", caller.Name, resourceType)
					}
				}
				if kit.TypeOf(list, "secrets") == nil {
					t.Errorf("%s does not receive the type of Secrets", caller.Name)
				}
			}
		})
	}
}

// TestResourceTypes_UnavailableAPIServiceHidesNoOther has a control plane of its own, because an
// APIService affects all discovery clients.
func TestResourceTypes_UnavailableAPIServiceHidesNoOther(t *testing.T) {
	t.Parallel()
	controlPlane, err := harness.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controlPlane.Stop)
	ctx := kit.Deadline(t)
	service := harness.StartService(t, controlPlane.Kubeconfig)
	clients := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect)
	client := clients.Discovery
	before := len(kit.ListTypes(ctx, t, client, "").GetResourceTypes())
	apiServices := controlPlane.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	if _, err := apiServices.Create(ctx, awayAPIService(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "the group is reported as unavailable", func() error {
		list := kit.ListTypes(ctx, t, client, "")
		failed := list.GetFailedGroupVersions()
		if len(failed) != 1 || failed[0].GetGroup() != "away.example.com" || failed[0].GetVersion() != "v1" || failed[0].GetMessage() == "" {
			return fmt.Errorf("reported groups %v", failed)
		}
		if now := len(list.GetResourceTypes()); now != before {
			t.Fatalf("%d types, %d before", now, before)
		}
		return nil
	})
	if failed := kit.ListTypes(ctx, t, client, "apps").GetFailedGroupVersions(); len(failed) > 0 {
		t.Errorf("the list of another group reports %v", failed)
	}
	wantGroupAway(ctx, t, clients.Resources)
	if err := apiServices.Delete(ctx, "v1.away.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "no group is reported as unavailable", func() error {
		if failed := kit.ListTypes(ctx, t, client, "").GetFailedGroupVersions(); len(failed) > 0 {
			return fmt.Errorf("reported groups %v", failed)
		}
		return nil
	})
}

// wantGroupAway fails the test unless reads of a resource of the unavailable group return
// UNAVAILABLE. NOT_FOUND would be final for clients.
func wantGroupAway(ctx context.Context, t *testing.T, client kit.ResourceClient) {
	t.Helper()
	for _, resource := range []string{"things.away.example.com", "things.v1.away.example.com", "Thing.v1.away.example.com"} {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource})
		kit.WantError(t, err, connect.CodeUnavailable, `"away.example.com" does not answer`, "try again")
		kit.WantStatus(t, err, "ServiceUnavailable")
	}
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "podz"})
	kit.WantError(t, err, connect.CodeNotFound, "pods")
}

func awayAPIService() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": "v1.away.example.com"},
		"spec": map[string]any{
			"group": "away.example.com", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "nobody"},
		},
	}}
}
