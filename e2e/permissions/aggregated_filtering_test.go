package permissions_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

const projectGroup = "project.example.com"

var projects = schema.GroupVersionResource{Group: projectGroup, Version: "v1", Resource: "projects"}

// projectsAPI is the server of an aggregated API that returns other objects to each user: a project
// named after a namespace to the service accounts of that namespace, and all projects to other
// users, such as the service. It supports list and watch.
type projectsAPI struct{ names []string }

// startProjectsAPI makes the API server forward requests for projects to a server of the test,
// until the test ends.
func startProjectsAPI(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, namespace string, names ...string) {
	t.Helper()
	serveAggregated(ctx, t, controlPlane, namespace, projects.GroupVersion(), &projectsAPI{names})
	kit.Eventually(ctx, t, "projects are served", func() error {
		_, err := controlPlane.Dynamic.Resource(projects).List(ctx, metav1.ListOptions{})
		return err
	})
}

// shownTo returns the projects that a user can see.
func (api *projectsAPI) shownTo(user string) (shown []any) {
	for _, name := range api.names {
		if !strings.HasPrefix(user, "system:serviceaccount:") || strings.Contains(user, ":"+name+":") {
			shown = append(shown, map[string]any{
				"apiVersion": projectGroup + "/v1", "kind": "Project",
				"metadata": map[string]any{"name": name, "uid": "uid-of-" + name, "resourceVersion": "7"},
				"private":  "content of " + name,
			})
		}
	}
	return shown
}

func (api *projectsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shown := api.shownTo(r.Header.Get("X-Remote-User"))
	answer := func(status int, content any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(content)
	}
	const prefix = "GET /apis/" + projectGroup + "/v1"
	mux := http.NewServeMux()
	mux.HandleFunc(prefix, func(http.ResponseWriter, *http.Request) {
		answer(http.StatusOK, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: projectGroup + "/v1",
			APIResources: []metav1.APIResource{{Name: "projects", SingularName: "project", Kind: "Project", Verbs: []string{"get", "list", "watch"}}},
		})
	})
	mux.HandleFunc(prefix+"/projects", func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			answer(http.StatusOK, map[string]any{
				"apiVersion": projectGroup + "/v1", "kind": "ProjectList", "metadata": map[string]any{"resourceVersion": "7"}, "items": shown,
			})
			return
		}
		if r.URL.Query().Get("sendInitialEvents") != "" {
			status := apierrors.NewBadRequest("sendInitialEvents is not supported").Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			answer(http.StatusBadRequest, status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc(prefix+"/projects/{name}", func(_ http.ResponseWriter, r *http.Request) {
		for _, project := range shown {
			if project.(map[string]any)["metadata"].(map[string]any)["name"] == r.PathValue("name") {
				answer(http.StatusOK, project)
				return
			}
		}
		status := apierrors.NewNotFound(projects.GroupResource(), r.PathValue("name")).Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer(http.StatusNotFound, status)
	})
	mux.ServeHTTP(w, r)
}

// TestAggregatedAPI_EachUserGetsItsOwnObjects reads an aggregated API whose server returns other
// objects to each user, with each call, as one tenant of two.
func TestAggregatedAPI_EachUserGetsItsOwnObjects(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	controlPlane := kit.Cluster(t)
	alpha, beta := kit.NewNamespace(ctx, t, controlPlane), kit.NewNamespace(ctx, t, controlPlane)
	startProjectsAPI(ctx, t, controlPlane, alpha, alpha, beta)
	caller := kit.NewAccount(ctx, t, alpha, "tenant")
	mayReadProjects(ctx, t, controlPlane, caller)
	service := harness.StartService(t, controlPlane.Kubeconfig, "--auth", "cluster")
	const resource = "projects." + projectGroup
	client := caller.Calling(service, harness.GRPC).Resources

	list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource})
	if err != nil {
		t.Fatal(err)
	}
	kit.WantAPIServer(t, list)
	if names := kit.NamesOf(list.GetObjects()); !slices.Equal(names, []string{alpha}) {
		t.Errorf("List returns %v, want only %s", names, alpha)
	}
	count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: resource})
	if err != nil || count.GetTotalCount() != 1 {
		t.Errorf("Count returns %d (%v)", count.GetTotalCount(), err)
	}
	if got, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Name: alpha}); err != nil || got.GetObject().GetName() != alpha {
		t.Errorf("Get returns %v (%v)", got, err)
	}
	_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Name: beta})
	kit.WantError(t, err, connect.CodeNotFound, "not found")

	stream, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: resource}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	shown, synced := []string{}, false
	for !synced && stream.Receive() {
		for _, event := range stream.Msg().GetEvents() {
			if name := event.GetObject().GetName(); name != "" {
				shown = append(shown, name)
			}
			synced = synced || event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_SYNCED
		}
	}
	if !synced || !slices.Equal(shown, []string{alpha}) {
		t.Errorf("Watch returns %v, want only %s (%v)", shown, alpha, stream.Err())
	}

	// If the operator enables caching for the group, it is served from the cache.
	trusting := harness.StartService(t, controlPlane.Kubeconfig, "--auth", "cluster", "--cache-aggregated", projectGroup)
	list, err = caller.Calling(trusting, harness.GRPC).Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: resource})
	if err != nil || list.GetSource() != kubeconnectv1.Source_SOURCE_CACHE {
		t.Errorf("source of a group in --cache-aggregated: %v (%v)", list.GetSource(), err)
	}
}

// mayReadProjects grants an account permission in RBAC to read all projects.
func mayReadProjects(ctx context.Context, t *testing.T, controlPlane *harness.Cluster, account kit.Account) {
	t.Helper()
	roles := controlPlane.Client.RbacV1()
	role, err := roles.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "projects-"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{projectGroup}, Resources: []string{"projects"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding, err := roles.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "projects-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account.User()}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		_ = roles.ClusterRoleBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{})
		_ = roles.ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{})
	})
}
