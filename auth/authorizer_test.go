package auth

import (
	"errors"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

var viewRole = rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

// authorizerWith returns an authorizer whose mirrors contain these bindings to the role view, and
// these namespaces.
func authorizerWith(t *testing.T, api *fakeAPI, options AuthorizerOptions, namespaces []string, bindings ...any) *Authorizer {
	t.Helper()
	a := NewAuthorizer(api.client(t), options)
	t.Cleanup(a.reviews.lookups.end)
	shows := map[string][]any{
		"clusterroles": {&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		}}},
		"rolebindings": bindings,
	}
	for _, mirror := range a.mirrors.rbac {
		must(t, mirror.Replace(shows[mirror.follower.resource], "1"))
	}
	for _, name := range namespaces {
		shows["namespaces"] = append(shows["namespaces"], &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	must(t, a.mirrors.namespaces.Replace(shows["namespaces"], "1"))
	return a
}

func viewer(namespace, name string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: viewRole, Subjects: subjects}
}

func TestAuthorizer_NamespacesAreConfirmedByReviews(t *testing.T) {
	api := allowing("a", "b", "d")
	a := authorizerWith(t, api, AuthorizerOptions{}, nil,
		viewer("a", "1", user("carol")), viewer("b", "1", rbacv1.Subject{Kind: "Group", Name: "crew"}),
		viewer("c", "1", user("carol")), viewer("d", "1", user("dave")))
	got, err := a.Namespaces(t.Context(), carol, listPods)
	if want := (Namespaces{Names: []string{"a", "b"}}); err != nil || !got.Equal(want) || api.asked() != 4 {
		t.Errorf("got %+v, %v after %d reviews", got, err, api.asked())
	}
	if !got.Contains("b") || got.Contains("c") || got.Contains("") {
		t.Error("Contains is wrong")
	}
}

// refuseRBAC makes an authorizer behave as if the service were not allowed to list RBAC.
func refuseRBAC(a *Authorizer) {
	for _, mirror := range a.mirrors.rbac {
		mirror.follower.setRefused(nil)
	}
}

func TestAuthorizer_ClusterWidePermissionNeedsOneReview(t *testing.T) {
	api := allowing("")
	a := authorizerWith(t, api, AuthorizerOptions{}, []string{"a", "b"})
	refuseRBAC(a)
	got, err := a.Namespaces(t.Context(), carol, in("a")) // the namespace is ignored
	if err != nil || !got.All || !got.Contains("x") || api.asked() != 1 {
		t.Errorf("got %+v, %v after %d reviews", got, err, api.asked())
	}
}

func TestAuthorizer_ReviewsEachNamespaceWithoutRBAC(t *testing.T) {
	api := allowing("b")
	a := authorizerWith(t, api, AuthorizerOptions{}, []string{"a", "b", "c"})
	refuseRBAC(a)
	for range 2 {
		got, err := a.Namespaces(t.Context(), carol, listPods)
		if err != nil || !slices.Equal(got.Names, []string{"b"}) || api.asked() != 4 {
			t.Errorf("got %+v, %v after %d reviews", got, err, api.asked())
		}
	}
}

func TestAuthorizer_NamespacesFailsIfOneReviewFails(t *testing.T) {
	api := allowing("a")
	a := authorizerWith(t, api, AuthorizerOptions{}, nil, viewer("a", "1", user("carol")), viewer("b", "1", user("carol")))
	must(t, func() error { _, err := a.Authorize(t.Context(), carol, in("a")); return err }())
	must(t, func() error { _, err := a.Authorize(t.Context(), carol, in("")); return err }())
	api.set(func() { api.fails = errors.New("away") })
	if got, err := a.Namespaces(t.Context(), carol, listPods); !apierrors.IsServiceUnavailable(err) || got.All || got.Names != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestAuthorizer_NamespacesFailsWithoutAnyList uses an API server that denies every list, and one
// that does not respond.
func TestAuthorizer_NamespacesFailsWithoutAnyList(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		is    func(error) bool
	}{
		"refused":        {0, apierrors.IsInternalError},
		"without answer": {time.Hour, apierrors.IsServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				api := allowing("a")
				a := NewAuthorizer(api.client(t), AuthorizerOptions{})
				_, err := a.Authorize(t.Context(), carol, in(""))
				must(t, err)
				api.takes = test.takes
				running(t, a.Run)
				if got, err := a.Namespaces(t.Context(), carol, listPods); !test.is(err) || got.All || got.Names != nil {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		})
	}
}

func TestAuthorizer_AnnouncesNewNamespacesIfAllAreCandidates(t *testing.T) {
	for _, all := range []bool{false, true} {
		a := authorizerWith(t, allowing(), AuthorizerOptions{}, nil)
		if all {
			refuseRBAC(a)
		}
		a.changes.announce() // the initial objects
		must(t, a.mirrors.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}))
		if a.changes.unannounced != all {
			t.Errorf("all are candidates: %t: announced is %v", all, a.changes.unannounced)
		}
		a.changes.announce()
		must(t, a.mirrors.namespaces.Update(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"a": "b"}}}))
		if a.changes.unannounced {
			t.Errorf("all are candidates: %t: a changed label is announced", all)
		}
	}
}

func TestAuthorizer_CachesDecisionsWhileRBACIsFollowed(t *testing.T) {
	node := Identity{Username: "system:node:a", Groups: []string{"system:nodes"}}
	for name, test := range map[string]struct {
		caller     Identity
		attributes Attributes
		ttl        time.Duration
		want       int // reviews in two minutes, with one request a second
	}{
		"a permission":                    {carol, in("a"), 5 * time.Minute, 1},
		"a denial":                        {carol, in("b"), 5 * time.Minute, 1},
		"there may be another authorizer": {carol, in("a"), 0, 12},
		"a node":                          {node, in("a"), 5 * time.Minute, 12},
		"a path":                          {carol, Attributes{Verb: "get", Path: "/metrics"}, 5 * time.Minute, 12},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				api := allowing("a")
				if test.attributes.Path != "" {
					api.may = allowingAll
				}
				a := NewAuthorizer(api.client(t), AuthorizerOptions{FollowedTTL: test.ttl})
				t.Cleanup(a.reviews.lookups.end)
				following(t, a)
				for range 119 {
					time.Sleep(time.Second)
					_, err := a.Authorize(t.Context(), test.caller, test.attributes)
					must(t, err)
				}
				if api.asked() != test.want {
					t.Errorf("%d reviews", api.asked())
				}
			})
		})
	}
}

func TestAuthorizer_ReviewsAgainAfterAGap(t *testing.T) {
	api := allowing("a")
	withFollowing(t, api, func(t *testing.T, a *Authorizer, stop, again func()) {
		wantAnswer(t, api, a, in("a"), true, 1)
		time.Sleep(time.Minute)
		stop()
		time.Sleep(maxGap)
		wantAnswer(t, api, a, in("a"), true, 1)
		again()
		time.Sleep(maxGap + time.Second)
		wantAnswer(t, api, a, in("a"), true, 1) // it can be from before a change in the gap
		time.Sleep(time.Minute)
		wantAnswer(t, api, a, in("a"), true, 0)
	})
}

func TestAuthorizer_ReviewsAgainWhenRBACListsAreForbidden(t *testing.T) {
	api := allowing("a")
	withFollowing(t, api, func(t *testing.T, a *Authorizer, _, _ func()) {
		wantAnswer(t, api, a, in("a"), true, 1)
		a.mirrors.rbac[0].follower.setRefused(errors.New("no"))
		time.Sleep(defaultAllowedTTL)
		wantAnswer(t, api, a, in("a"), true, 1)
	})
}

func TestAuthorizer_ReviewsAgainWhenRBACChanges(t *testing.T) {
	api := allowing("a")
	withFollowing(t, api, func(t *testing.T, a *Authorizer, _, _ func()) {
		wantAnswer(t, api, a, in("a"), true, 1)
		time.Sleep(time.Minute)
		must(t, a.mirrors.rbac[3].Add(viewer("a", "1", user("carol"))))
		api.set(func() { api.may = allowing().may })
		wantAnswer(t, api, a, in("a"), false, 1)
		time.Sleep(propagationGrace)
		wantAnswer(t, api, a, in("a"), false, 1)
		time.Sleep(defaultDeniedTTL)
		wantAnswer(t, api, a, in("a"), false, 1) // an API server can be behind
		time.Sleep(stableAfter)
		wantAnswer(t, api, a, in("a"), false, 1)
		time.Sleep(time.Minute)
		wantAnswer(t, api, a, in("a"), false, 0)
	})
}

func TestAuthorizer_ReviewsAgainSoonAfterAnEvaluationError(t *testing.T) {
	api := allowing("a")
	may := api.may
	api.may = func(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, EvaluationError: "the webhook is down"}
	}
	withFollowing(t, api, func(t *testing.T, a *Authorizer, _, _ func()) {
		wantAnswer(t, api, a, in("a"), true, 1)
		api.set(func() { api.may = may })
		time.Sleep(defaultAllowedTTL)
		wantAnswer(t, api, a, in("a"), true, 1)
		time.Sleep(time.Minute)
		wantAnswer(t, api, a, in("a"), true, 0)
	})
}

func TestAuthorizer_ReviewsAgainAfterFiveMinutesAtMost(t *testing.T) {
	api := allowing("a")
	withFollowing(t, api, func(t *testing.T, a *Authorizer, _, _ func()) {
		wantAnswer(t, api, a, in("a"), true, 1)
		time.Sleep(5 * time.Minute)
		wantAnswer(t, api, a, in("a"), true, 1)
	})
}
