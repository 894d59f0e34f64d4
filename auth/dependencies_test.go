package auth

import (
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// agents is a cluster that identifies all tokens as agent's, and an authenticator that follows
// their dependencies.
type agents struct {
	*fakeAPI
	cluster *ClusterAuthenticator
	key     *signing
	token   string
	watches []watch.Interface
}

// withAgents runs a test with fake time, an hour after the authenticator has started to follow the
// service account and the pod of a token.
func withAgents(t *testing.T, test func(*testing.T, *agents)) {
	t.Helper()
	faketime.Test(t, func(t *testing.T) {
		a := &agents{fakeAPI: accepting(), key: newSigning(t, "a")}
		a.user.User = authenticationv1.UserInfo{Username: agent.Username, UID: agent.UID}
		a.publish(a.key.public())
		a.cluster = NewClusterAuthenticator(a.client(t), ClusterAuthenticatorOptions{FollowedTTL: 5 * time.Minute, Metadata: a.factory(t).ServiceMetadata()})
		t.Cleanup(a.cluster.tokens.lookups.end)
		running(t, a.cluster.tokens.dependencies.issuer.run)
		must(t, a.cluster.tokens.dependencies.accounts.Replace([]any{object("account-uid")}, "1"))
		must(t, a.cluster.tokens.dependencies.pods.Replace([]any{object("other-uid"), object("pod-uid")}, "1"))
		a.watch(t)
		time.Sleep(time.Hour)
		a.token = a.key.token(t, map[string]any{"exp": time.Now().Add(time.Hour).Unix()})
		test(t, a)
	})
}

func object(uid types.UID) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: uid}}
}

func (a *agents) watch(t *testing.T) {
	t.Helper()
	for _, of := range []*liveObjects{a.cluster.tokens.dependencies.accounts, a.cluster.tokens.dependencies.pods} {
		a.watches = append(a.watches, of.follower.watched(t, metav1.ListOptions{}))
	}
}

// wantReviews authenticates once a second for some time, and checks the number of reviews.
func (a *agents) wantReviews(t *testing.T, lasts time.Duration, want int) {
	t.Helper()
	before := a.asked()
	for range int(lasts / time.Second) {
		if identity, err := a.cluster.Authenticate(t.Context(), bearer(a.token)); err != nil || identity.Username != agent.Username {
			t.Fatalf("got %+v, %v", identity, err)
		}
		time.Sleep(time.Second)
	}
	if asked := a.asked() - before; asked != want {
		t.Errorf("%d reviews in %s, want %d", asked, lasts, want)
	}
}

func TestClusterAuthenticator_TokenIsReviewedRarelyWhileItsObjectsExist(t *testing.T) {
	withAgents(t, func(t *testing.T, a *agents) {
		a.wantReviews(t, 2*time.Minute, 1)
		time.Sleep(3 * time.Minute)
		a.wantReviews(t, 2*time.Minute, 1)
	})
}

func TestClusterAuthenticator_TokenIsReviewedAgainWhenADependencyIsLost(t *testing.T) {
	terminating := object("pod-uid")
	terminating.DeletionTimestamp = new(metav1.Now())
	for name, goes := range map[string]func(t *testing.T, a *agents){
		"the pod":       func(t *testing.T, a *agents) { must(t, a.cluster.tokens.dependencies.pods.Delete(object("pod-uid"))) },
		"the pod, soon": func(t *testing.T, a *agents) { must(t, a.cluster.tokens.dependencies.pods.Update(terminating)) },
		"the pod, seen by a list": func(t *testing.T, a *agents) {
			must(t, a.cluster.tokens.dependencies.pods.Replace([]any{object("other-uid"), terminating}, "2"))
		},
		"the service account": func(t *testing.T, a *agents) {
			must(t, a.cluster.tokens.dependencies.accounts.Delete(object("account-uid")))
		},
		"the right to list pods": func(_ *testing.T, a *agents) {
			a.cluster.tokens.dependencies.pods.follower.setRefused(errors.New("no"))
		},
		"the issuer's key":             func(_ *testing.T, a *agents) { a.publish(newSigning(t, "a").public()); time.Sleep(keysInterval) },
		"what the issuer publishes":    func(_ *testing.T, a *agents) { a.set(func() { a.documents = nil }); time.Sleep(keysMaxAge) },
		"the watches, for ten seconds": func(_ *testing.T, a *agents) { a.watches[0].Stop(); a.watches[1].Stop(); time.Sleep(maxGap) },
	} {
		t.Run(name, func(t *testing.T) {
			withAgents(t, func(t *testing.T, a *agents) {
				a.cluster.tokens.dependencies.ttl = time.Hour
				a.wantReviews(t, 2*time.Minute, 1)
				goes(t, a)
				a.wantReviews(t, 2*time.Minute, 12)
				a.set(func() { a.user = authenticationv1.TokenReviewStatus{} })
				time.Sleep(acceptedTTL)
				if _, err := a.cluster.Authenticate(t.Context(), bearer(a.token)); !errors.Is(err, ErrUnauthenticated) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestClusterAuthenticator_UnverifiedTokensAreReviewedEveryTenSeconds has the API server accept
// tokens whose claims about their dependencies are missing or wrong.
func TestClusterAuthenticator_UnverifiedTokensAreReviewedEveryTenSeconds(t *testing.T) {
	for name, token := range map[string]func(t *testing.T, a *agents) string{
		"forged with a known ID of a key": func(t *testing.T, _ *agents) string { return newSigning(t, "a").token(t, nil) },
		"a Secret's": func(t *testing.T, a *agents) string {
			return a.key.token(t, map[string]any{"kubernetes.io": boundClaim("secret")})
		},
		"a pod's that is not known": func(t *testing.T, a *agents) string {
			must(t, a.cluster.tokens.dependencies.pods.Replace(nil, "2"))
			return a.token
		},
		"no service account's": func(t *testing.T, a *agents) string {
			a.set(func() { a.user.User.Username = "webhook:agent" })
			return a.token
		},
		"no JWT": func(*testing.T, *agents) string { return "abc" },
	} {
		t.Run(name, func(t *testing.T) {
			withAgents(t, func(t *testing.T, a *agents) {
				a.token = token(t, a)
				before := a.asked()
				for range 120 {
					_, err := a.cluster.Authenticate(t.Context(), bearer(a.token))
					must(t, err)
					time.Sleep(time.Second)
				}
				if asked := a.asked() - before; asked != 12 {
					t.Errorf("%d reviews", asked)
				}
			})
		})
	}
}

// TestClusterAuthenticator_TokenIsReviewedOftenBeforeItsExpiry is about clocks that differ.
func TestClusterAuthenticator_TokenIsReviewedOftenBeforeItsExpiry(t *testing.T) {
	withAgents(t, func(t *testing.T, a *agents) {
		a.token = a.key.token(t, map[string]any{"exp": time.Now().Add(3 * time.Minute).Unix()})
		a.wantReviews(t, 2*time.Minute, 1)
		a.wantReviews(t, 59*time.Second, 6)
	})
}

func TestLiveObjects_KeepOnlyNameAndUID(t *testing.T) {
	l := newLiveObjects("pods", nil, (&fakeAPI{}).factory(t).ServiceMetadata())
	full := object("a")
	full.Labels, full.ManagedFields = map[string]string{"a": "b"}, []metav1.ManagedFieldsEntry{{}}
	got, err := l.Transformer()(full)
	if kept, ok := got.(*metav1.PartialObjectMetadata); err != nil || !ok || kept.UID != "a" || kept.Name != "x" ||
		kept.Labels != nil || kept.ManagedFields != nil {
		t.Errorf("the transformed object is %+v, %v", got, err)
	}
	if l.Add("nonsense") == nil || l.Delete("nonsense") == nil || l.Replace([]any{"nonsense"}, "1") == nil {
		t.Error("a value that is no object is accepted")
	}
}
