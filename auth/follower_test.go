package auth

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// watched opens a watch as the Reflector does.
func (f *follower) watched(t *testing.T, options metav1.ListOptions) watch.Interface {
	t.Helper()
	f.watch = func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }
	opened, err := f.open(t.Context(), options)
	must(t, err)
	t.Cleanup(opened.Stop)
	return opened
}

// following has an authorizer follow an RBAC without any role. stop ends its watches, and again
// reopens them.
func following(t *testing.T, a *Authorizer) (stop, again func()) {
	t.Helper()
	var open []watch.Interface
	stop = func() {
		for _, watch := range open {
			watch.Stop()
		}
		open = nil
	}
	again = func() {
		for _, mirror := range a.mirrors.rbac {
			open = append(open, mirror.follower.watched(t, metav1.ListOptions{}))
		}
	}
	for _, mirror := range a.mirrors.rbac {
		must(t, mirror.Replace(nil, "1"))
	}
	again()
	return stop, again
}

func TestFollower_FollowsFromItsFirstWatch(t *testing.T) {
	initial := metav1.ListOptions{SendInitialEvents: new(true)}
	for name, test := range map[string]struct {
		does func(t *testing.T, f *follower)
		want bool
	}{
		"nothing":                      {func(*testing.T, *follower) {}, false},
		"a list":                       {func(_ *testing.T, f *follower) { f.synced() }, false},
		"a list and a watch":           {func(t *testing.T, f *follower) { f.synced(); f.watched(t, metav1.ListOptions{}) }, true},
		"a watch that begins":          {func(t *testing.T, f *follower) { f.watched(t, initial) }, false},
		"a watch that has begun":       {func(t *testing.T, f *follower) { f.watched(t, initial); f.synced() }, true},
		"a list that is refused later": {func(t *testing.T, f *follower) { f.watched(t, initial); f.synced(); f.setRefused(errors.New("no")) }, false},
		"a watch that starts again with initial events": {func(t *testing.T, f *follower) {
			f.synced()
			first := f.watched(t, metav1.ListOptions{})
			time.Sleep(time.Minute)
			first.Stop()
			time.Sleep(maxGap)
			f.watched(t, initial)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				f := newFollower[rbacv1.Role]("roles", "nothing is lost", (&fakeAPI{}).client(t).RbacV1().Roles(""))
				test.does(t, f)
				time.Sleep(time.Millisecond)
				if f.hasFollowed(time.Now()) != test.want {
					t.Errorf("follows is %v", !test.want)
				}
				if f.hasFollowed(time.Now().Add(-time.Hour)) {
					t.Error("has followed since before its start")
				}
			})
		})
	}
}

// TestFollower_ListsIfInitialEventsAreNotCompleted has a proxy that swallows the bookmark after the initial events.
func TestFollower_ListsIfInitialEventsAreNotCompleted(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		m := newMirror("roles", (&fakeAPI{}).client(t).RbacV1().Roles(""), func(named, *rbacv1.Role) {})
		etcd := &restorable{version: "1000", streams: true, swallows: true}
		etcd.serve(m.follower)
		running(t, m.run)
		if state := m.follower.waitSettled(t.Context()); state != synced {
			t.Errorf("the state is %v", state)
		}
		time.Sleep(time.Second)
		if !m.follower.hasFollowed(time.Now()) {
			t.Error("does not follow after the list")
		}
	})
}

func TestFollower_BridgesGapsShorterThanTenSeconds(t *testing.T) {
	for name, test := range map[string]struct {
		lasts, gap time.Duration // of watches that end
		want       bool
	}{
		"a short gap":                        {time.Minute, maxGap - time.Second, true},
		"a long gap":                         {time.Minute, maxGap, false},
		"watches that end as they are begun": {shortWatch / 2, shortWatch / 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				f := newFollower[rbacv1.Role]("roles", "nothing is lost", (&fakeAPI{}).client(t).RbacV1().Roles(""))
				f.synced()
				for range 60 {
					watch := f.watched(t, metav1.ListOptions{})
					time.Sleep(test.lasts)
					watch.Stop()
					time.Sleep(test.gap)
				}
				f.watched(t, metav1.ListOptions{})
				if got := f.hasFollowed(time.Now().Add(-30 * time.Second)); got != test.want {
					t.Errorf("hasFollowed is %v", got)
				}
			})
		})
	}
}

func allowingAll(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	return authorizationv1.SubjectAccessReviewStatus{Allowed: true}
}

// withFollowing runs a test with fake time, with an authorizer that follows RBAC and reviews at
// most every five minutes.
func withFollowing(t *testing.T, api *fakeAPI, test func(t *testing.T, a *Authorizer, stop, again func())) {
	t.Helper()
	faketime.Test(t, func(t *testing.T) {
		a := NewAuthorizer(api.client(t), AuthorizerOptions{FollowedTTL: 5 * time.Minute})
		running(t, a.changes.run)
		t.Cleanup(a.reviews.lookups.end)
		stop, again := following(t, a)
		time.Sleep(time.Hour)
		test(t, a, stop, again)
	})
}

func TestMirror_RelistRemovesDeletedObjects(t *testing.T) {
	a := authorizerWith(t, allowing(), AuthorizerOptions{}, []string{"a", "b"}, viewer("a", "1", user("carol")), viewer("b", "1", user("carol")))
	bindings := a.mirrors.rbac[3]
	subjects := subjectsOf(carol)
	must(t, bindings.Replace([]any{viewer("b", "1", user("carol")), viewer("c", "1", user("carol"))}, "2"))
	if got := a.rbac.namespaces(subjects, listPods); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after a relist: %v", got)
	}
	must(t, bindings.Delete(viewer("b", "1")))
	must(t, bindings.Update(viewer("c", "1", user("dave"))))
	must(t, bindings.Add(viewer("d", "1", user("carol"))))
	if got := a.rbac.namespaces(subjects, listPods); !slices.Equal(got, []string{"d"}) {
		t.Errorf("after changes: %v", got)
	}
	must(t, a.mirrors.namespaces.Replace([]any{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}, "2"))
	if got := a.mirrors.namespaces.namespaces(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("namespaces: %v", got)
	}
	if bindings.Add("nonsense") == nil || bindings.Delete("nonsense") == nil || bindings.Replace([]any{"nonsense"}, "3") == nil {
		t.Error("a value that is no object is accepted")
	}
}
