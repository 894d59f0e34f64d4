package scopes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	pods  = object.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true, Watchable: true}
	nodes = object.Resource{Version: "v1", Name: "nodes", Kind: "Node", Watchable: true}
)

// cluster is an API server with some permissions of the service.
type cluster struct {
	mu         sync.Mutex          // guards the fields below
	namespaces []string            // all that exist
	allowed    map[string][]string // verbs on pods, by namespace; "" for all
	listsNone  bool                // the service may not list namespaces
	incomplete bool                // rules are not all
	overridden []string            // namespaces in which another authorizer denies what the rules allow
	err        error               // of every request
	reviews    int
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *cluster) client() *fake.Clientset {
	client := fake.NewClientset()
	react := func(verb, resource string, do func(clienttesting.Action) (runtime.Object, error)) {
		client.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.err != nil {
				return true, nil, c.err
			}
			object, err := do(action)
			return true, object, err
		})
	}
	react("list", "namespaces", c.list)
	react("create", "selfsubjectaccessreviews", c.review)
	react("create", "selfsubjectrulesreviews", c.rules)
	return client
}

func (c *cluster) list(action clienttesting.Action) (runtime.Object, error) {
	if c.listsNone {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "", nil)
	}
	list := &corev1.NamespaceList{}
	selector := action.(clienttesting.ListAction).GetListRestrictions().Labels
	for _, name := range c.namespaces {
		team, _, _ := strings.Cut(name, "-")
		if of := (labels.Set{"team": team}); selector.Matches(of) {
			list.Items = append(list.Items, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: of}})
		}
	}
	return list, nil
}

func (c *cluster) review(action clienttesting.Action) (runtime.Object, error) {
	c.reviews++
	review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
	asked := review.Spec.ResourceAttributes
	whole := slices.Contains(c.allowed[""], asked.Verb)
	review.Status.Allowed = asked.Resource == "pods" && !slices.Contains(c.overridden, asked.Namespace) &&
		(whole || slices.Contains(c.allowed[asked.Namespace], asked.Verb))
	return review, nil
}

func (c *cluster) rules(action clienttesting.Action) (runtime.Object, error) {
	c.reviews++
	review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectRulesReview).DeepCopy()
	review.Status.Incomplete = c.incomplete
	if verbs := slices.Concat(c.allowed[review.Spec.Namespace], c.allowed[""]); !c.incomplete && verbs != nil {
		review.Status.ResourceRules = []authorizationv1.ResourceRule{
			{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}},
			{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"one"}},
			{Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"*"}},
		}
	}
	return review, nil
}

var reads = []string{"get", "list", "watch"}

func TestNamespaces_AreThoseThatTheServiceMayRead(t *testing.T) {
	few := func() *cluster {
		return &cluster{
			namespaces: []string{"a-1", "a-2", "b-1", "c"},
			allowed:    map[string][]string{"a-1": reads, "a-2": {"list"}, "b-1": {"*", "list", "watch"}},
		}
	}
	for name, test := range map[string]struct {
		cluster  func(*cluster)
		options  Options
		resource object.Resource
		want     []string // nil is the whole resource
	}{
		"everything":                                      {func(c *cluster) { c.allowed[""] = reads }, Options{}, pods, nil},
		"everything, but limited":                         {func(c *cluster) { c.allowed[""] = reads }, Options{Namespaces: []string{"a-*"}}, pods, []string{"a-1", "a-2"}},
		"everything, and limited by labels":               {func(c *cluster) { c.allowed[""] = reads }, Options{Selector: labels.SelectorFromSet(labels.Set{"team": "b"})}, pods, []string{"b-1"}},
		"to list everywhere, and not to watch":            {func(c *cluster) { c.allowed[""] = []string{"list"} }, Options{}, pods, []string{"a-1", "b-1"}},
		"in some namespaces":                              {nil, Options{}, pods, []string{"a-1", "b-1"}},
		"in some, which are limited":                      {nil, Options{Namespaces: []string{"b-1", "c"}}, pods, []string{"b-1"}},
		"in some, with incomplete rules":                  {func(c *cluster) { c.incomplete = true }, Options{}, pods, []string{"a-1", "b-1"}},
		"in its own, because it lists no namespaces":      {func(c *cluster) { c.listsNone = true }, Options{Own: "a-1"}, pods, []string{"a-1"}},
		"in those that are named, and not in the pattern": {func(c *cluster) { c.listsNone = true }, Options{Namespaces: []string{"a-1", "b-*"}, Own: "b-1"}, pods, []string{"a-1", "b-1"}},
		"by labels that it cannot see":                    {func(c *cluster) { c.listsNone = true }, Options{Selector: labels.Everything(), Own: "a-1"}, pods, []string{}},
		"in none":                                         {func(c *cluster) { c.allowed = nil }, Options{}, pods, []string{}},
		"of what has no namespaces":                       {nil, Options{}, nodes, []string{}},
		"without reviews":                                 {func(c *cluster) { c.err = apierrors.NewNotFound(schema.GroupResource{}, "") }, Options{}, pods, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := few()
			if test.cluster != nil {
				test.cluster(c)
			}
			got, err := New(c.client(), "host", test.options).Namespaces(t.Context(), test.resource)
			if err != nil || (got == nil) != (test.want == nil) || !slices.Equal(got, test.want) {
				t.Errorf("got %#v, %v", got, err)
			}
		})
	}
}

func TestNamespaces_AreAskedForOnce(t *testing.T) {
	c := &cluster{namespaces: []string{"a", "b", "c"}, allowed: map[string][]string{"a": reads}}
	s := New(c.client(), "host", Options{})
	for range 5 {
		if _, err := s.Namespaces(t.Context(), pods); err != nil {
			t.Fatal(err)
		}
	}
	if c.reviews != 4 { // for all namespaces, and for each
		t.Errorf("%d reviews", c.reviews)
	}
	other := pods
	other.Name = "services"
	if got, err := s.Namespaces(t.Context(), other); err != nil || len(got) > 0 || c.reviews != 5 {
		t.Errorf("%d reviews for another resource: %v, %v", c.reviews, got, err)
	}
}

func TestNamespaces_FailWhileTheAPIServerCannotBeAsked(t *testing.T) {
	c := &cluster{err: errors.New("no connection"), namespaces: []string{"a"}, allowed: map[string][]string{"a": reads}}
	s := New(c.client(), "host", Options{})
	if _, err := s.Namespaces(t.Context(), pods); err == nil {
		t.Error("a decision without the API server")
	}
	c.set(func() { c.err = nil })
	if got, err := s.Namespaces(t.Context(), pods); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("then %v, %v", got, err)
	}
}

// TestScopes_FollowPermissionsAndNamespaces uses fake time.
func TestScopes_FollowPermissionsAndNamespaces(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := &cluster{namespaces: []string{"a", "b"}, allowed: map[string][]string{"a": reads}}
		s := New(c.client(), "host", Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		want := func(when string, names ...string) {
			t.Helper()
			if got, err := s.Namespaces(t.Context(), pods); err != nil || !slices.Equal(got, names) || (names == nil) != (got == nil) {
				t.Fatalf("%s: %v, %v", when, got, err)
			}
		}
		want("at first", "a")
		for _, step := range []struct {
			when   string
			change func()
			names  []string
		}{
			{"a permission was granted", func() { c.allowed["b"] = reads }, []string{"a", "b"}},
			{"a namespace was created", func() { c.namespaces, c.allowed["c"] = append(c.namespaces, "c"), reads }, []string{"a", "b", "c"}},
			{"a permission was revoked", func() { delete(c.allowed, "a") }, []string{"b", "c"}},
			{"a namespace was deleted", func() { c.namespaces = []string{"a", "c"} }, []string{"c"}},
			{"the API server cannot be asked", func() { c.err = errors.New("no connection") }, []string{"c"}},
			{"everything was granted", func() { c.err, c.allowed[""] = nil, reads }, nil},
			{"the permission for all was revoked", func() { delete(c.allowed, "") }, []string{"c"}},
			{"everything was granted again", func() { c.allowed[""] = reads }, nil},
			{"the rules do not say everything", func() { c.incomplete = true }, nil},
			{"and the permission for all was revoked", func() { delete(c.allowed, "") }, []string{"c"}},
			{"everything was granted once more", func() { c.incomplete, c.allowed[""] = false, reads }, nil},
		} {
			changed := s.Changed()
			before, _ := s.Namespaces(t.Context(), pods)
			c.set(step.change)
			time.Sleep(minPeriod + time.Second)
			synctest.Wait()
			want(step.when, step.names...)
			select {
			case <-changed:
			default:
				if !slices.Equal(before, step.names) {
					t.Errorf("%s: not announced", step.when)
				}
			}
		}
		reviewed := func() (reviews int) {
			synctest.Wait()
			c.set(func() { reviews = c.reviews })
			return reviews
		}
		before := reviewed()
		time.Sleep(minPeriod)
		if asked := reviewed() - before; asked != 1 {
			t.Errorf("%d reviews about what may be read in all namespaces, want 1", asked)
		}
	})
}

// TestScopes_DistrustRulesAfterADenial uses fake time.
func TestScopes_DistrustRulesAfterADenial(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		c := &cluster{namespaces: []string{"a", "b"}, allowed: map[string][]string{"a": reads, "b": reads}, overridden: []string{"b"}}
		s := New(c.client(), "host", Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		if got, err := s.Namespaces(t.Context(), pods); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("by the rules %v, %v", got, err)
		}
		s.Denied(pods)
		time.Sleep(2 * recheckPause)
		synctest.Wait()
		if got, err := s.Namespaces(t.Context(), pods); err != nil || !slices.Equal(got, []string{"a"}) {
			t.Errorf("after a denial %v, %v", got, err)
		}
	})
}
