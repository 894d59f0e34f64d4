package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// listed sends the objects of joinedAPI as lists, which reads of what is not cached ask for.
func listed(api *servertest.FakeAPI) *servertest.FakeAPI {
	kinds := map[string]string{}
	for _, served := range joinedResources {
		if list, ok := served.(metav1.APIResourceList); ok {
			for _, resource := range list.APIResources {
				kinds[resource.Name] = resource.Kind + " " + list.GroupVersion
			}
		}
	}
	api.List = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, version, _ := strings.Cut(kinds[path.Base(r.URL.Path)], " ")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": version, "kind": kind + "List", "metadata": map[string]string{"resourceVersion": "10"}, "items": api.ObjectsAt(r.URL.Path),
		})
	})
	return api
}

// joinRead is one way to read rows with a join. It returns them as joinedText does, and the warnings that are about the join.
type joinRead struct {
	name, namespace string
	read            func(t *testing.T, s *service, resource string, join *kubeconnectv1.Join) (text string, warnings []string)
}

// joinReads are all ways to read rows with a join: the rows of all namespaces, and of namespace "a".
func joinReads() (all []joinRead) {
	for _, namespace := range []string{"", "a"} {
		all = append(all, joinRead{"a list of namespace " + namespace, namespace, func(t *testing.T, s *service, resource string, join *kubeconnectv1.Join) (string, []string) {
			got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{
				Resource: resource, Namespace: namespaceOf(resource, namespace), Encoding: asJSON, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{join}})
			if err != nil {
				return err.Error(), nil
			}
			return joinedText(t, got), ofJoins(got.GetWarnings())
		}}, joinRead{"a page of namespace " + namespace, namespace, func(t *testing.T, s *service, resource string, join *kubeconnectv1.Join) (string, []string) {
			stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{
				Resource: resource, Namespace: namespaceOf(resource, namespace), Limit: 10, Encoding: asJSON, Fields: []string{"metadata.name"}, Joins: []*kubeconnectv1.Join{join}}))
			if err != nil {
				return err.Error(), nil
			}
			defer func() { _ = stream.Close() }()
			client, warnings := pageClient{t: t}, []string(nil)
			for client.token == "" {
				if !stream.Receive() {
					return stream.Err().Error(), nil
				}
				client.apply(stream.Msg())
				warnings = append(warnings, stream.Msg().GetWarnings()...)
			}
			return joinedText(t, &kubeconnectv1.ListResponse{Objects: client.held}), ofJoins(warnings)
		}})
	}
	return all
}

// namespaceOf returns the namespace of a request, which cluster-scoped resources have not.
func namespaceOf(resource, namespace string) string {
	if resource == "nodes" {
		return ""
	}
	return namespace
}

func ofJoins(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(warning string) bool { return !strings.HasPrefix(warning, "join") })
}

// inNamespaceA returns the lines of a text that are about objects of joinedAPI in namespace "a".
func inNamespaceA(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "alone ") }), "\n")
}

// TestJoins_SayWhatTheServiceDoesNotCache has every path by which a join can lead to objects that the service does not cache, and
// every read of its rows. The caller may list everything, so the service is the reason, and all reads say the same.
func TestJoins_SayWhatTheServiceDoesNotCache(t *testing.T) {
	t.Parallel()
	const claims = "spec.volumes[*].persistentVolumeClaim.claimName"
	unknown := func(rows ...string) string {
		for i, row := range rows {
			rows[i] = row + " j=0 not permitted"
		}
		return strings.Join(rows, "\n")
	}
	for name, test := range map[string]struct {
		uncached string // the resource that is not cached in namespace "a"
		resource string
		join     *kubeconnectv1.Join
		want     string // of the rows in namespace "a", or in none
		anywhere bool   // its warning is not about namespaces, and it is cached in all or in none
	}{
		"named by a row": {
			uncached: "persistentvolumeclaims", resource: "pods", join: &kubeconnectv1.Join{Type: namedBy, Resource: "persistentvolumeclaims", Path: claims},
			want: unknown("web-1", "web-2"),
		},
		"named by a row, cluster-scoped": {
			uncached: "nodes", resource: "pods", join: &kubeconnectv1.Join{Type: namedBy, Resource: "nodes", Path: "spec.nodeName"},
			want: unknown("web-1", "web-2"), anywhere: true,
		},
		"naming a row": {
			uncached: "pods", resource: "persistentvolumeclaims", join: &kubeconnectv1.Join{Type: names, Resource: "pods", Path: claims},
			want: unknown("data", "unused"),
		},
		"naming a row that is cluster-scoped": {
			uncached: "pods", resource: "nodes", join: &kubeconnectv1.Join{Type: names, Resource: "pods", Path: "spec.nodeName"},
			want: unknown("n1"), anywhere: true,
		},
		"selected by a row": {
			uncached: "pods", resource: "deployments", join: &kubeconnectv1.Join{Type: selectedOf, Resource: "pods"}, want: unknown("web"),
		},
		"subject of a row": {
			uncached: "pods", resource: "events", join: &kubeconnectv1.Join{Type: subjectOf, Resource: "pods"},
			want: unknown("of-another", "of-config", "of-web-1"),
		},
		"owner of a row": {
			uncached: "replicasets.apps", resource: "pods", join: &kubeconnectv1.Join{Type: ownerOf, Resource: "replicasets"}, want: unknown("web-1", "web-2"),
		},
		"owner of an owner": {
			uncached: "deployments.apps", resource: "pods", join: &kubeconnectv1.Join{Type: ownerOf, Resource: "deployments"}, want: unknown("web-1", "web-2"),
		},
		"owner between": {
			uncached: "replicasets.apps", resource: "pods", join: &kubeconnectv1.Join{Type: ownerOf, Resource: "deployments"}, want: unknown("web-1", "web-2"),
		},
	} {
		resource, _, _ := strings.Cut(test.uncached, ".")
		warning := fmt.Sprintf(`join "j": some results are unknown: the service does not cache %s`, test.uncached)
		states := map[string]informerhub.Options{"nowhere": {Scopes: cachedIn{resource: {}}}}
		if !test.anywhere {
			warning += " in their namespaces"
			states["in another namespace"] = informerhub.Options{Scopes: cachedIn{resource: {"b"}}}
			states["in another namespace, as the rows"] = informerhub.Options{Scopes: cachedIn{resource: {"b"}, test.resource: {"b"}}}
		}
		if name == "owner between" {
			states["never"] = informerhub.Options{Uncached: []string{test.uncached}}
		}
		for state, options := range states {
			t.Run(name+", cached "+state, func(t *testing.T) {
				t.Parallel()
				s := newServiceWithHub(t, listed(joinedAPI()), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Authorizer: everything()}, options)
				for _, read := range joinReads() {
					if state == "in another namespace, as the rows" && read.namespace == "" {
						continue // these rows are not read then
					}
					join := &kubeconnectv1.Join{Name: "j", Type: test.join.Type, Resource: test.join.Resource, Path: test.join.Path, Fields: []string{"metadata.name"}}
					got, warnings := read.read(t, s, test.resource, join)
					if inNamespaceA(got) != test.want || !slices.Equal(warnings, []string{warning}) {
						t.Errorf("%s: got\n%s\n%q\nwant\n%s\n%q", read.name, got, warnings, test.want, warning)
					}
				}
			})
		}
	}
}

// TestJoins_NameTheReasonForEachRow has rows in namespaces that differ in what the caller may list, and in what the service caches.
func TestJoins_NameTheReasonForEachRow(t *testing.T) {
	t.Parallel()
	api := joinedAPI()
	api.Of["persistentvolumeclaims"] = nil
	for _, namespace := range []string{"a", "b", "c", "d"} {
		claim := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: meta(namespace, "in-"+namespace)}
		api.Of["persistentvolumeclaims"] = append(api.Of["persistentvolumeclaims"], claim)
	}
	rights := servertest.NewFakeRights(auth.Namespaces{})
	rights.Of = map[string]auth.Namespaces{"persistentvolumeclaims": {All: true}, "pods": servertest.Some("a", "b")}
	s := newServiceWithHub(t, api, Config{Edge: edge.Config{Authenticator: rights}, Authorizer: rights},
		informerhub.Options{Scopes: cachedIn{"pods": {"b", "c"}}})
	got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "persistentvolumeclaims", Encoding: asJSON, Joins: []*kubeconnectv1.Join{
		{Name: "j", Type: names, Resource: "pods", Path: "spec.volumes[*].persistentVolumeClaim.claimName"}}})
	if err != nil {
		t.Fatal(err)
	}
	if text := joinedText(t, got); text != "in-a j=0 not permitted\nin-b j=0\nin-c j=0 not permitted\nin-d j=0 not permitted" {
		t.Errorf("got\n%s", text)
	}
	want := []string{
		`join "j": some results are not permitted: you may not list pods in their namespaces`,
		`join "j": some results are unknown: the service does not cache pods in their namespaces`,
	}
	if !slices.Equal(got.GetWarnings(), want) {
		t.Errorf("the warnings are %q, want %q", got.GetWarnings(), want)
	}
}

// TestJoins_SayThatAPartIsCached has joins to, and over, resources of which the service caches selected objects only.
func TestJoins_SayThatAPartIsCached(t *testing.T) {
	t.Parallel()
	s := newServiceWithHub(t, joinedAPI(), Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Authorizer: everything()},
		informerhub.Options{Select: []informerhub.Selected{{Resource: "replicasets", Labels: "app=web"}}})
	for resource, prefix := range map[string]string{"replicasets": `join "j"`, "deployments": "joins of owners"} {
		got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods", Namespace: "a", Joins: []*kubeconnectv1.Join{
			{Name: "j", Type: ownerOf, Resource: resource}}})
		if err != nil {
			t.Fatal(err)
		}
		want := prefix + ": the answer covers the replicasets.apps that match app=web: the service caches no others; read them with consistency LATEST"
		if !slices.Equal(got.GetWarnings(), []string{want}) {
			t.Errorf("%s: the warnings are %q, want %q", resource, got.GetWarnings(), want)
		}
	}
}

// TestJoins_ClusterScopedOwnersLeadToNoNamespacedOnes has a pod of a node, as the kubelet creates them, where no nodes are cached.
func TestJoins_ClusterScopedOwnersLeadToNoNamespacedOnes(t *testing.T) {
	t.Parallel()
	api := joinedAPI()
	api.Of["pods"] = []any{joinedPod("a", "static", "n1", "", controlledBy("v1", "Node", "", "n1"))}
	s := newServiceWithHub(t, api, Config{Edge: edge.Config{Authenticator: auth.KubeconfigAuthenticator{}}, Authorizer: everything()},
		informerhub.Options{Scopes: cachedIn{"nodes": {}}})
	got, err := s.resources.List(t.Context(), &kubeconnectv1.ListRequest{Resource: "pods", Joins: []*kubeconnectv1.Join{{Name: "j", Type: ownerOf, Resource: "deployments"}}})
	if err != nil {
		t.Fatal(err)
	}
	if text := joinedText(t, got); text != "static j=0" || len(got.GetWarnings()) > 0 {
		t.Errorf("got %s, and the warnings %q", text, got.GetWarnings())
	}
}

// TestLiveJoins_FollowWhatIsCached watches a page while the service loses the related resource, then the caller the permission for it.
func TestLiveJoins_FollowWhatIsCached(t *testing.T) {
	t.Parallel()
	rights, scopes := everything(), &changingScopes{}
	s := newServiceWithHub(t, liveJoinedAPI(), Config{Edge: edge.Config{Authenticator: rights}, Authorizer: rights, Recheck: time.Hour}, informerhub.Options{Scopes: scopes})
	c := watchJoined(t, s, &kubeconnectv1.WatchRequest{Resource: "deployments", Limit: 1, Encoding: asJSON, Joins: []*kubeconnectv1.Join{
		{Name: "j", Type: selectedOf, Resource: "pods"}}})
	c.until("web j=2")
	rights.Change(func() { scopes.set(cachedIn{"pods": {"b"}}) })
	c.until("web j=0 not permitted")
	c.untilWarned(`join "j": some results are unknown: the service does not cache pods in their namespaces`)
	rights.Change(func() { rights.Of = map[string]auth.Namespaces{"deployments": {All: true}} })
	c.untilWarned(`join "j": some results are not permitted: you may not list pods in their namespaces`) // without a change of the row
	rights.Change(func() { rights.Of = nil; scopes.set(nil) })
	c.until("web j=2")
	if c.resets != 1 {
		t.Errorf("the stream was reset %d times", c.resets)
	}
}

// untilWarned receives until the stream has sent a warning, which can have come with the last response.
func (c *liveJoined) untilWarned(want string) {
	c.t.Helper()
	for !slices.Contains(c.last, want) {
		response := receive(c.t, c.stream)
		c.apply(response)
		c.last = append(c.last, response.GetWarnings()...)
	}
}

// changingScopes are namespaces that are cached, and that a test changes.
type changingScopes struct {
	mu  sync.Mutex
	now cachedIn
}

func (s *changingScopes) set(now cachedIn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

func (s *changingScopes) Namespaces(ctx context.Context, resource informerhub.Resource) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Namespaces(ctx, resource)
}

func (s *changingScopes) Denied(informerhub.Resource) {}

func (s *changingScopes) Changed() <-chan struct{} { return nil }
