package auth

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// restorable is an API server whose etcd can be restored from a backup. Like a real one it accepts
// a watch from a version that it has yet to reach, and sends nothing.
type restorable struct {
	streams  bool // it can send the initial events of a watch; set once, with swallows
	swallows bool // it does not send the bookmark after the initial events

	mu      sync.Mutex // guards the fields below
	version string
	uids    map[string]types.UID // by resource, of one object in each
	fails   error                // instead of a list of the current version
	open    []*watch.FakeWatcher
}

// serve has a follower list and watch here.
func (r *restorable) serve(f *follower) {
	f.list = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if options.Limit == 1 && r.fails != nil {
			return nil, r.fails
		}
		list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: r.version}}
		if uid := r.uids[f.resource]; uid != "" {
			list.Items = append(list.Items, *object(uid))
		}
		return list, r.tooLargeLocked(options)
	}
	f.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		w := watch.NewFakeWithChanSize(2, false)
		context.AfterFunc(ctx, w.Stop)
		if options.SendInitialEvents != nil {
			if err := r.tooLargeLocked(options); err != nil || !r.streams {
				return nil, errors.Join(err, apierrors.NewInvalid(rbacv1.SchemeGroupVersion.WithKind("Role").GroupKind(), "", nil))
			}
			if uid := r.uids[f.resource]; uid != "" {
				w.Add(object(uid))
			}
			if !r.swallows {
				w.Action(watch.Bookmark, r.bookmarkLocked(f.expected))
			}
		}
		r.open = append(r.open, w)
		return w, nil
	}
}

func (r *restorable) tooLargeLocked(options metav1.ListOptions) error {
	if !older(r.version, options.ResourceVersion) {
		return nil
	}
	err := apierrors.NewTimeoutError("Too large resource version", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

func (r *restorable) bookmarkLocked(expected runtime.Object) runtime.Object {
	bookmark := expected.DeepCopyObject()
	of, _ := meta.Accessor(bookmark)
	of.SetResourceVersion(r.version)
	of.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return bookmark
}

// restore goes back to a version at which no object exists. The open watches stay.
func (r *restorable) restore(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version, r.uids = version, nil
}

// fail has the lists of the current version fail from now on; nil ends that.
func (r *restorable) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = err
}

// endWatches ends the open watches.
func (r *restorable) endWatches() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.open {
		w.Stop()
	}
	r.open = nil
}

// restores are the ways in which a restore reaches the followers.
var restores = map[string]struct {
	streams bool
	watches bool // the open watches outlast the restore
	within  time.Duration
}{
	"the watches end": {false, false, 20 * time.Second},
	"the watches end, and begin with initial events": {true, false, 20 * time.Second},
	"the watches stay open":                          {false, true, compareInterval + 20*time.Second},
	"the watches stay open, with initial events":     {true, true, compareInterval + 20*time.Second},
}

func TestAuthorizer_DeniesPermissionsRevokedByARestore(t *testing.T) {
	for name, test := range restores {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				api, etcd := allowing("a"), &restorable{streams: test.streams, version: "1000"}
				a := NewAuthorizer(api.client(t), AuthorizerOptions{FollowedTTL: 5 * time.Minute})
				t.Cleanup(a.reviews.lookups.end)
				for _, mirror := range a.mirrors.rbac {
					etcd.serve(mirror.follower)
					running(t, mirror.run)
				}
				time.Sleep(2*time.Minute + 30*time.Second)
				wantAnswer(t, api, a, in("a"), true, 1)
				etcd.restore("900")
				api.set(func() { api.may = allowing().may })
				if !test.watches {
					etcd.endWatches()
				}
				time.Sleep(test.within)
				wantAnswer(t, api, a, in("a"), false, 1)
				time.Sleep(10 * time.Minute)
				wantAnswer(t, api, a, in("a"), false, 1)
				time.Sleep(time.Minute)
				wantAnswer(t, api, a, in("a"), false, 0) // RBAC is followed again
			})
		})
	}
}

func TestClusterAuthenticator_RejectsTokensOfAccountsDeletedByARestore(t *testing.T) {
	for name, test := range restores {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				a := &agents{fakeAPI: accepting(), key: newSigning(t, "a")}
				a.user.User = authenticationv1.UserInfo{Username: agent.Username, UID: agent.UID}
				a.publish(a.key.public())
				a.cluster = NewClusterAuthenticator(a.client(t), ClusterAuthenticatorOptions{FollowedTTL: 5 * time.Minute, Metadata: a.factory(t).ServiceMetadata()})
				t.Cleanup(a.cluster.tokens.lookups.end)
				dependencies := a.cluster.tokens.dependencies
				running(t, dependencies.issuer.run)
				etcd := &restorable{streams: test.streams, version: "1000", uids: map[string]types.UID{"serviceaccounts": "account-uid", "pods": "pod-uid"}}
				for _, of := range []*liveObjects{dependencies.accounts, dependencies.pods} {
					etcd.serve(of.follower)
					running(t, func(ctx context.Context) { of.follower.follow(ctx, of) })
				}
				time.Sleep(time.Hour)
				a.token = a.key.token(t, map[string]any{"exp": time.Now().Add(time.Hour).Unix()})
				a.wantReviews(t, time.Minute, 1)
				etcd.restore("900")
				a.set(func() { a.user = authenticationv1.TokenReviewStatus{} })
				if !test.watches {
					etcd.endWatches()
				}
				time.Sleep(test.within)
				if identity, err := a.cluster.Authenticate(t.Context(), bearer(a.token)); err == nil {
					t.Errorf("the token is accepted as %s", identity.Username)
				}
			})
		})
	}
}

func TestFollower_ConfirmsWatchesByTheVersionOfTheAPIServer(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		f := newFollower[rbacv1.Role]("roles", "nothing is lost", (&fakeAPI{}).client(t).RbacV1().Roles(""))
		etcd := &restorable{version: "1000"}
		etcd.serve(f)
		m := &mirror{follower: f, countChanged: func() {}, names: map[named]struct{}{}}
		running(t, m.run)
		time.Sleep(time.Minute)
		if !f.hasFollowed(time.Now().Add(-time.Second)) {
			t.Error("does not follow an API server at the same version")
		}
		etcd.fail(errors.New("away"))
		etcd.endWatches()
		time.Sleep(maxGap + time.Second)
		if f.hasFollowed(time.Now()) {
			t.Error("follows an API server whose version is not known")
		}
		etcd.fail(nil)
		time.Sleep(time.Minute)
		if !f.hasFollowed(time.Now().Add(-time.Second)) {
			t.Error("does not follow once the version is known")
		}
		if f.hasFollowed(time.Now().Add(-time.Minute - time.Second)) {
			t.Error("has followed while the version was not known")
		}
	})
}
