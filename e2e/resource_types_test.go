package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

type discoveryClient = kubeconnectv1connect.DiscoveryServiceClient

// discoverOverEachProtocol runs a test for each protocol in parallel, with clients of one service.
func discoverOverEachProtocol(t *testing.T, test func(*testing.T, discoveryClient)) {
	t.Helper()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Dial(harness.HTTP2(t), service.Address, protocol).Discovery)
		})
	}
}

// typeOf returns the type of a resource; nil if it is not listed.
func typeOf(list *kubeconnectv1.ListResourceTypesResponse, resource string) *kubeconnectv1.ResourceType {
	for _, resourceType := range list.GetResourceTypes() {
		if resourceType.GetKind().GetResource() == resource {
			return resourceType
		}
	}
	return nil
}

func listTypes(ctx context.Context, t *testing.T, client discoveryClient, group string) *kubeconnectv1.ListResourceTypesResponse {
	t.Helper()
	list, err := client.ListResourceTypes(ctx, &kubeconnectv1.ListResourceTypesRequest{Group: group})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestResourceTypes_MatchClientGo(t *testing.T) {
	t.Parallel()
	discoverOverEachProtocol(t, func(t *testing.T, client discoveryClient) {
		ctx := deadline(t)
		var got []string
		for _, resourceType := range listTypes(ctx, t, client, "").GetResourceTypes() {
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
	kind := resourceType.GetKind()
	return fmt.Sprint(kind.GetGroup(), "/", kind.GetVersion(), "/", kind.GetResource(), " ", kind.GetKind(), " ", kind.GetNamespaced(), " ",
		resourceType.GetSingular(), resourceType.GetShortNames(), resourceType.GetCategories(), resourceType.GetVerbs(), resourceType.GetSubresources(), resourceType.GetVersions())
}

// typesByClientGo returns the types that client-go finds, except those of tests, in order of group
// and name.
func typesByClientGo(t *testing.T) (lines []string) {
	t.Helper()
	preferred, err := cluster(t).Client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	groups, all, err := cluster(t).Client.Discovery().ServerGroupsAndResources()
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
		return slices.Compare([]string{a.GetKind().GetGroup(), a.GetKind().GetResource()}, []string{b.GetKind().GetGroup(), b.GetKind().GetResource()})
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
		Kind: &kubeconnectv1.ResourceKind{
			Group: groupVersion.Group, Version: groupVersion.Version, Resource: resource.Name, Kind: resource.Kind, Namespaced: resource.Namespaced,
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
	discoverOverEachProtocol(t, func(t *testing.T, client discoveryClient) {
		ctx := deadline(t)
		gadgets := newCustomResource(ctx, t, cluster(t), newNamespace(ctx, t, cluster(t)))
		want := func(description, line string) {
			t.Helper()
			eventually(ctx, t, description, func() error {
				var got []string
				for _, resourceType := range listTypes(ctx, t, client, gadgets.group).GetResourceTypes() {
					got = append(got, lineOf(resourceType))
				}
				if strings.Join(got, "\n") != line {
					return fmt.Errorf("listed %q, want %q", got, line)
				}
				return nil
			})
		}
		line := func(version, short, versions string) string {
			return fmt.Sprintf("%s/%s/gadgets Gadget true gadget[%s] [] [delete deletecollection get list patch create update watch] [status] [%s]", gadgets.group, version, short, versions)
		}
		want("it does not exist", "")
		gadgets.define("v1")
		want("it is created", line("v1", "gd", "v1"))
		gadgets.renameShort("gdt")
		want("it has another short name", line("v1", "gdt", "v1"))
		gadgets.serve([]string{"v1", "v2"}, nil)
		want("it has another version", line("v2", "gd", "v2 v1"))
		gadgets.remove()
		want("it is deleted", "")
	})
}

func TestResourceTypes_ReportTheStateOfTheCache(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := deadline(t)
			clients := harness.Dial(harness.HTTP2(t), service.Address, protocol)
			namespace := newNamespace(ctx, t, cluster(t))
			gadgets := newCustomResource(ctx, t, cluster(t), namespace)
			gadgets.define("v1")
			gadgets.create("v1", namespace, "one", nil)
			eventually(ctx, t, "the type is listed", func() error {
				if resourceType := typeOf(listTypes(ctx, t, clients.Discovery, gadgets.group), "gadgets"); resourceType == nil || resourceType.GetCache() != nil {
					return fmt.Errorf("type %v", resourceType)
				}
				return nil
			})
			untilListed(ctx, t, clients.Resources, gadgets)
			wantCached(ctx, t, clients.Discovery, gadgets.group, 1)
			gadgets.create("v1", namespace, "two", map[string]any{"color": "red"})
			wantCached(ctx, t, clients.Discovery, gadgets.group, 2)
		})
	}
}

// wantCached blocks until the reported number of cached gadgets is count.
func wantCached(ctx context.Context, t *testing.T, client discoveryClient, group string, count int64) {
	t.Helper()
	eventually(ctx, t, fmt.Sprint(count, " objects are reported"), func() error {
		state := typeOf(listTypes(ctx, t, client, group), "gadgets").GetCache()
		if !state.GetStarted() || !state.GetSynced() || state.GetObjects() != count || state.GetBytes() < 100*count ||
			state.GetResourceVersion() == "" || state.GetFreshness().GetStale() || state.GetFreshness().GetLastContact() == nil {
			return fmt.Errorf("cache %v", state)
		}
		return nil
	})
}

func TestResourceTypes_CacheStateNeedsListPermission(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	namespace := newNamespace(ctx, t, cluster(t))
	service := startForCallers(t)
	all, some, none := newAccount(ctx, t, namespace, "all"), newAccount(ctx, t, namespace, "some"), newAccount(ctx, t, namespace, "none")
	administer(ctx, t, all)
	some.grantIn(namespace, "some", rule("secrets", "get", "list", "watch"))
	for _, reader := range []account{all, some} {
		eventually(ctx, t, reader.name+" has permission to read", func() error {
			_, err := reader.calling(service, harness.Connect).Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "secrets"})
			return err
		})
	}
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			if state := typeOf(listTypes(ctx, t, all.calling(service, protocol).Discovery, ""), "secrets").GetCache(); !state.GetSynced() {
				t.Errorf("a caller with permission to list all Secrets receives %v", state)
			}
			for _, caller := range []account{some, none} {
				list := listTypes(ctx, t, caller.calling(service, protocol).Discovery, "")
				for _, resourceType := range list.GetResourceTypes() {
					if resourceType.GetCache() != nil {
						t.Errorf("%s receives %v", caller.name, resourceType)
					}
				}
				if typeOf(list, "secrets") == nil {
					t.Errorf("%s does not receive the type of Secrets", caller.name)
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
	ctx := deadline(t)
	service := harness.StartService(t, controlPlane.Kubeconfig)
	clients := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect)
	client := clients.Discovery
	before := len(listTypes(ctx, t, client, "").GetResourceTypes())
	apiServices := controlPlane.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	if _, err := apiServices.Create(ctx, awayAPIService(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the group is reported as unavailable", func() error {
		list := listTypes(ctx, t, client, "")
		failed := list.GetFailedGroups()
		if len(failed) != 1 || failed[0].GetGroup() != "away.example.com" || failed[0].GetVersion() != "v1" || failed[0].GetMessage() == "" {
			return fmt.Errorf("reported groups %v", failed)
		}
		if now := len(list.GetResourceTypes()); now != before {
			t.Fatalf("%d types, %d before", now, before)
		}
		return nil
	})
	if failed := listTypes(ctx, t, client, "apps").GetFailedGroups(); len(failed) > 0 {
		t.Errorf("the list of another group reports %v", failed)
	}
	wantGroupAway(ctx, t, clients.Resources)
	if err := apiServices.Delete(ctx, "v1.away.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "no group is reported as unavailable", func() error {
		if failed := listTypes(ctx, t, client, "").GetFailedGroups(); len(failed) > 0 {
			return fmt.Errorf("reported groups %v", failed)
		}
		return nil
	})
}

// wantGroupAway fails the test unless reads of a resource of the unavailable group return
// UNAVAILABLE. NOT_FOUND would be final for clients.
func wantGroupAway(ctx context.Context, t *testing.T, client resourceClient) {
	t.Helper()
	for _, resource := range []string{"things.away.example.com", "things.v1.away.example.com", "Thing.v1.away.example.com"} {
		_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource})
		wantError(t, err, connect.CodeUnavailable, `"away.example.com" does not answer`, "try again")
		wantStatus(t, err, "ServiceUnavailable")
	}
	_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "podz"})
	wantError(t, err, connect.CodeNotFound, "pods")
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
