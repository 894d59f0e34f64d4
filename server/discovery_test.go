package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

func discoveryOf(s *service) kubeconnectv1connect.DiscoveryServiceClient {
	return kubeconnectv1connect.NewDiscoveryServiceClient(s.client())
}

// listTypes returns the types by the names of their resources.
func listTypes(t *testing.T, s *service, request *kubeconnectv1.ListResourceTypesRequest) map[string]*kubeconnectv1.ResourceType {
	t.Helper()
	answer, err := discoveryOf(s).ListResourceTypes(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	types := make(map[string]*kubeconnectv1.ResourceType)
	for _, of := range answer.GetResourceTypes() {
		types[of.GetResource().GetPlural()] = of
	}
	return types
}

func readPods(t *testing.T, s *service) {
	t.Helper()
	if _, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods"}); err != nil {
		t.Fatal(err)
	}
}

func TestDiscovery_ListsTypesByGroupAndCategory(t *testing.T) {
	s := newService(t, &servertest.FakeAPI{Change: http.NotFoundHandler()}, auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		request *kubeconnectv1.ListResourceTypesRequest
		want    string
	}{
		"all":                     {&kubeconnectv1.ListResourceTypesRequest{}, "bindings nodes pods widgets"},
		"the core group":          {&kubeconnectv1.ListResourceTypesRequest{Group: "core"}, "bindings nodes pods"},
		"a group":                 {&kubeconnectv1.ListResourceTypesRequest{Group: "example.com"}, "widgets"},
		"a group that is not":     {&kubeconnectv1.ListResourceTypesRequest{Group: "example"}, ""},
		"a category":              {&kubeconnectv1.ListResourceTypesRequest{Category: "all"}, "pods"},
		"a category that is not":  {&kubeconnectv1.ListResourceTypesRequest{Category: "none"}, ""},
		"a category of no member": {&kubeconnectv1.ListResourceTypesRequest{Category: "all", Group: "example.com"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := discoveryOf(s).ListResourceTypes(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, of := range answer.GetResourceTypes() {
				names = append(names, of.GetResource().GetPlural())
			}
			if strings.Join(names, " ") != test.want {
				t.Errorf("returned %v", names)
			}
		})
	}
}

func TestDiscovery_TypesHaveTheStateOfTheirCache(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	if is := listTypes(t, s, &kubeconnectv1.ListResourceTypesRequest{})["pods"]; is == nil || is.GetCache() != nil {
		t.Errorf("before the first read it is %v", is)
	}
	readPods(t, s)
	types := listTypes(t, s, &kubeconnectv1.ListResourceTypesRequest{})
	if is := types["pods"].GetCache(); !is.GetRunning() || !is.GetSynced() || is.GetObjectCount() != 2 || is.GetSizeBytes() == 0 ||
		is.GetResourceVersion() != "10" || is.GetFreshness().GetStale() || is.GetFreshness().GetLastContactTime() == nil {
		t.Errorf("then it is %v", is)
	}
	if types["nodes"].GetCache() != nil {
		t.Errorf("others are %v", types)
	}
}

// TestDiscovery_CacheStateNeedsPermissionToListAll also verifies that permissions are only reviewed
// for running caches.
func TestDiscovery_CacheStateNeedsPermissionToListAll(t *testing.T) {
	rights := servertest.NewFakeRights(auth.Namespaces{All: true})
	s := withRights(t, servertest.PodsAPI(), rights)
	readPods(t, s)
	for name, test := range map[string]struct {
		may  auth.Namespaces
		want bool
	}{
		"everywhere":   {auth.Namespaces{All: true}, true},
		"in one place": {servertest.Some("default"), false},
		"nowhere":      {servertest.Some(), false},
	} {
		rights.Change(func() { rights.May, rights.Asked = test.may, nil })
		types := listTypes(t, s, &kubeconnectv1.ListResourceTypesRequest{})
		if is := types["pods"].GetCache(); len(types) != 4 || (is != nil) != test.want {
			t.Errorf("a caller that can list %s gets %v", name, types)
		}
		want := auth.Attributes{Verb: "list", Version: "v1", Resource: "pods"}
		if !slices.Equal(rights.Asked, []auth.Attributes{want}) {
			t.Errorf("the reviews are %v", rights.Asked)
		}
	}
	rights.Change(func() { rights.May, rights.Away = auth.Namespaces{All: true}, true })
	_, err := discoveryOf(s).ListResourceTypes(t.Context(), &kubeconnectv1.ListResourceTypesRequest{})
	if connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("while permissions cannot be reviewed the result is %v", err)
	}
	if types := listTypes(t, s, &kubeconnectv1.ListResourceTypesRequest{Group: "example.com"}); types["widgets"] == nil {
		t.Error("permissions are reviewed without a cache")
	}
}

func TestDiscovery_HidesCacheStateWithoutAuthorizer(t *testing.T) {
	s := newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: servertest.NewFakeRights(servertest.Some())}})
	if types := listTypes(t, s, &kubeconnectv1.ListResourceTypesRequest{}); len(types) != 4 || types["pods"].GetCache() != nil {
		t.Errorf("returned %v", types)
	}
	if may, err := (access.Permissions{}).ListsAll(t.Context(), auth.Identity{Username: "jane"}, servertest.Deployments); may || err != nil {
		t.Errorf("jane can list: %v, %v", may, err)
	}
}

func TestGetSchema_IsAvailableToEveryCaller(t *testing.T) {
	s := withRights(t, &servertest.FakeAPI{Change: http.NotFoundHandler()}, servertest.NewFakeRights(servertest.Some()))
	answer, err := discoveryOf(s).GetSchema(t.Context(), &kubeconnectv1.GetSchemaRequest{Resource: "pod"})
	if err != nil {
		t.Fatal(err)
	}
	schema := answer.GetSchema().AsMap()
	components, _ := schema["components"].(map[string]any)
	if schemas, _ := components["schemas"].(map[string]any); answer.GetResource().GetKind() != "Pod" || schema["type"] != "object" || schemas["Spec"] == nil {
		t.Errorf("returned %v", answer)
	}
}

func TestGetSchema_MissingSchemasHaveTheirCode(t *testing.T) {
	s := newService(t, &servertest.FakeAPI{Change: http.NotFoundHandler()}, auth.KubeconfigAuthenticator{})
	for name, test := range map[string]struct {
		resource string
		code     connect.Code
	}{
		"no resource":                   {"", connect.CodeInvalidArgument},
		"a resource that is not served": {"podz", connect.CodeNotFound},
		"a kind that is not published":  {"nodes", connect.CodeNotFound},
		"a group that is not published": {"widgets", connect.CodeNotFound},
	} {
		_, err := discoveryOf(s).GetSchema(t.Context(), &kubeconnectv1.GetSchemaRequest{Resource: test.resource})
		if connect.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
}
