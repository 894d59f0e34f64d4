package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

var carol = Identity{Username: "carol", UID: "1", Groups: []string{"crew"}, Extra: map[string][]string{"k": {"v"}}}

func in(namespace string) Attributes {
	return Attributes{Verb: "list", Version: "v1", Resource: "pods", Namespace: namespace}
}

// withAuthorizer runs a test with fake time, with an authorizer that uses api and sees only the
// changes that the test notes.
func withAuthorizer(t *testing.T, api *fakeAPI, test func(*testing.T, *Authorizer)) {
	t.Helper()
	faketime.Test(t, func(t *testing.T) {
		authorizer := NewAuthorizer(api.client(t), AuthorizerOptions{})
		running(t, authorizer.changes.run)
		t.Cleanup(authorizer.reviews.lookups.end)
		test(t, authorizer)
	})
}

// wantAnswer authorizes once, and checks the decision and the number of reviews for it.
func wantAnswer(t *testing.T, api *fakeAPI, a *Authorizer, attributes Attributes, allowed bool, reviews int) {
	t.Helper()
	before := api.asked()
	decision, err := a.Authorize(t.Context(), carol, attributes)
	if err != nil || decision.Allowed != allowed {
		t.Errorf("got %+v, %v", decision, err)
	}
	if asked := api.asked() - before; asked != reviews {
		t.Errorf("%d reviews, want %d", asked, reviews)
	}
}

func TestAuthorizer_ReviewHasTheWholeIdentity(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		attributes := Attributes{"get", "apps", "v1", "deployments", "scale", "a", "b", ""}
		wantAnswer(t, api, a, attributes, true, 1)
		spec := api.reviews[0]
		if spec.User != "carol" || spec.UID != "1" || spec.Groups[0] != "crew" || spec.Extra["k"][0] != "v" ||
			*spec.ResourceAttributes != (authorizationv1.ResourceAttributes{
				Verb: "get", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "scale", Namespace: "a", Name: "b",
			}) {
			t.Errorf("the review is about %+v", spec)
		}
	})
}

// podsOf returns identities of one service account, as the API server identifies its pods' tokens.
func podsOf(count int) (pods []Identity) {
	for i := range count {
		pods = append(pods, Identity{
			Username: "system:serviceaccount:a:agent", UID: "1", Groups: []string{"system:serviceaccounts"},
			Extra: map[string][]string{
				"authentication.kubernetes.io/credential-id": {fmt.Sprint("JTI=", i)},
				"authentication.kubernetes.io/pod-name":      {fmt.Sprint("agent-", i)},
				"authentication.kubernetes.io/pod-uid":       {fmt.Sprint("uid-", i)},
				"authentication.kubernetes.io/node-name":     {fmt.Sprint("node-", i)},
				"authentication.kubernetes.io/node-uid":      {fmt.Sprint("uid-", i)},
				"scopes.example.com":                         {"few"},
			},
		})
	}
	return pods
}

func TestAuthorizer_PodsOfOneServiceAccountShareDecisions(t *testing.T) {
	for name, test := range map[string]struct {
		lookedAt []string
		want     int
	}{
		"no authorizer looks at the credential": {nil, 1},
		"one looks at the node":                 {[]string{"authentication.kubernetes.io/node-name"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				api := allowing("a")
				a := NewAuthorizer(api.client(t), AuthorizerOptions{Extra: test.lookedAt})
				t.Cleanup(a.reviews.lookups.end)
				for _, pod := range podsOf(3) {
					if decision, err := a.Authorize(t.Context(), pod, in("a")); err != nil || !decision.Allowed {
						t.Errorf("got %+v, %v", decision, err)
					}
				}
				if api.asked() != test.want {
					t.Errorf("%d reviews, want %d", api.asked(), test.want)
				}
				for _, spec := range api.reviews {
					if len(spec.Extra) != 1+len(test.lookedAt) || spec.Extra["scopes.example.com"][0] != "few" {
						t.Errorf("the review is about the extra %v", spec.Extra)
					}
				}
			})
		})
	}
}

// TestAuthorizer_DistinguishesIdentitiesByExtra uses two tokens of one user, one of which is
// limited.
func TestAuthorizer_DistinguishesIdentitiesByExtra(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		limited, all := podsOf(1)[0], podsOf(1)[0]
		delete(all.Extra, "scopes.example.com")
		for _, identity := range []Identity{limited, all} {
			_, err := a.Authorize(t.Context(), identity, in("a"))
			must(t, err)
		}
		if api.asked() != 2 || len(api.reviews[1].Extra) != 0 {
			t.Errorf("asked %d times, about %+v", api.asked(), api.reviews)
		}
	})
}

func TestAuthorizer_CachesDecisionsForTenSeconds(t *testing.T) {
	for namespace, allowed := range map[string]bool{"a": true, "b": false} {
		api := allowing("a")
		withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
			wantAnswer(t, api, a, in(namespace), allowed, 1)
			time.Sleep(9 * time.Second)
			wantAnswer(t, api, a, in(namespace), allowed, 0)
			time.Sleep(2 * time.Second)
			wantAnswer(t, api, a, in(namespace), allowed, 1)
		})
	}
}

func TestAuthorizer_CachesDecisionsByCallerAndAttributes(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		wantAnswer(t, api, a, in("a"), true, 1)
		for _, other := range []Attributes{
			{Verb: "watch", Version: "v1", Resource: "pods", Namespace: "a"},
			{Verb: "list", Version: "v1", Resource: "secrets", Namespace: "a"},
			{Verb: "list", Version: "v1", Resource: "pods", Subresource: "log", Namespace: "a"},
			{Verb: "list", Group: "x", Version: "v1", Resource: "pods", Namespace: "a"},
		} {
			wantAnswer(t, api, a, other, true, 1)
		}
		wantAnswer(t, api, a, in("b"), false, 1)
		wantAnswer(t, api, a, in(""), false, 1)
		decision, err := a.Authorize(t.Context(), Identity{Username: "dave"}, in("a"))
		if err != nil || !decision.Allowed || api.asked() != 8 {
			t.Errorf("another caller: %+v, %v, asked %d", decision, err, api.asked())
		}
	})
}

// TestAuthorizer_WiderPermissionImpliesNoNarrowerOne uses an authorizer before RBAC that denies one
// name, and allows the wider question that contains it.
func TestAuthorizer_WiderPermissionImpliesNoNarrowerOne(t *testing.T) {
	get := func(namespace, name string) Attributes {
		return Attributes{Verb: "get", Resource: "pods", Namespace: namespace, Name: name}
	}
	for name, wider := range map[string]Attributes{
		"all namespaces":         get("", ""),
		"a name everywhere":      get("", "x"),
		"all names of namespace": get("a", ""),
	} {
		t.Run(name, func(t *testing.T) {
			api := allowing()
			api.may = func(asked authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
				denied := asked.ResourceAttributes.Namespace == "a" && asked.ResourceAttributes.Name == "x"
				return authorizationv1.SubjectAccessReviewStatus{Allowed: !denied, Denied: denied}
			}
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				wantAnswer(t, api, a, wider, true, 1)
				wantAnswer(t, api, a, get("a", "x"), false, 1)
				wantAnswer(t, api, a, wider, true, 0)
				wantAnswer(t, api, a, get("a", "x"), false, 0)
			})
		})
	}
}

// TestAuthorizer_NamespaceDenialOverridesClusterWidePermission lists over all namespaces first,
// which the API server allows, and then in the namespace that it denies.
func TestAuthorizer_NamespaceDenialOverridesClusterWidePermission(t *testing.T) {
	api := allowing("", "a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		if all, err := a.Namespaces(t.Context(), carol, in("")); err != nil || !all.All {
			t.Errorf("got %+v, %v", all, err)
		}
		wantAnswer(t, api, a, in("vault"), false, 1)
		wantAnswer(t, api, a, in("a"), true, 1)
	})
}

func TestAuthorizer_CachedDenialPrecedesCachedPermission(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		wantAnswer(t, api, a, in("a"), true, 1)
		asked := cacheKey{carol.Key(), in("a")}
		a.reviews.denied.Add(asked, cachedDecision{requested: time.Now(), validUntil: time.Now().Add(time.Second)}, time.Second)
		wantAnswer(t, api, a, in("a"), false, 0)
	})
}

func TestAuthorizer_AllowedAndDeniedIsDenied(t *testing.T) {
	api := allowing()
	api.may = func(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true, EvaluationError: "odd"}
	}
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		wantAnswer(t, api, a, in("a"), false, 1)
	})
}

func TestAuthorizer_DenialsDoNotEvictPermissions(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		wantAnswer(t, api, a, in("a"), true, 1)
		for i := range maxReviews + 10 {
			a.reviews.denied.Add(cacheKey{attributes: in(fmt.Sprint(i))}, cachedDecision{}, time.Second)
		}
		wantAnswer(t, api, a, in("a"), true, 0)
		if kept := len(a.reviews.denied.Keys()); kept != maxReviews {
			t.Errorf("%d entries are cached", kept)
		}
	})
}

// TestAuthorizer_SeesChangesThatTheAPIServerSeesLater uses an API server that sees a change three
// seconds later than the authorizer.
func TestAuthorizer_SeesChangesThatTheAPIServerSeesLater(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		wantAnswer(t, api, a, in("a"), true, 1)
		time.Sleep(time.Second)
		changed := a.Changed()
		a.changes.note(subject{group: true, name: "crew"})
		<-changed
		changedAt := time.Now()
		time.AfterFunc(3*time.Second, func() { api.set(func() { api.may = allowing().may }) })
		for stream := a.Changed(); ; stream = a.Changed() {
			if decision, err := a.Authorize(t.Context(), carol, in("a")); err != nil || !decision.Allowed {
				break
			}
			<-stream
		}
		if took := time.Since(changedAt); took > propagationGrace {
			t.Errorf("the permission was lost after %s", took)
		}
		time.Sleep(9 * time.Second)
		wantAnswer(t, api, a, in("a"), false, 0)
	})
}

func TestAuthorizer_ChangesOfOtherSubjectsNeedNoReview(t *testing.T) {
	api := allowing("a")
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		wantAnswer(t, api, a, in("a"), true, 1)
		time.Sleep(time.Second)
		a.changes.note(subject{name: "dave"}, subject{group: true, name: "carol"})
		wantAnswer(t, api, a, in("a"), true, 0)
		a.changes.note(subject{name: "carol"})
		wantAnswer(t, api, a, in("a"), true, 1)
	})
}

// TestAuthorizer_DoesNotJoinReviewsOlderThanAChange changes permissions while a review is in
// progress.
func TestAuthorizer_DoesNotJoinReviewsOlderThanAChange(t *testing.T) {
	api := allowing("a")
	api.takes = 2 * time.Second
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		var first sync.WaitGroup
		first.Go(func() { wantAnswer(t, api, a, in("a"), true, 2) })
		time.Sleep(time.Second)
		a.changes.note(subject{name: "carol"})
		api.set(func() { api.may = allowing().may })
		time.Sleep(time.Millisecond)
		wantAnswer(t, api, a, in("a"), false, 1)
		first.Wait()
		wantAnswer(t, api, a, in("a"), false, 0)
	})
}

func TestAuthorizer_CoalescesEqualReviews(t *testing.T) {
	api := allowing("a")
	api.takes = time.Second
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if decision, err := a.Authorize(t.Context(), carol, in("a")); err != nil || !decision.Allowed {
					t.Errorf("got %+v, %v", decision, err)
				}
			})
		}
		all.Wait()
		if api.asked() != 1 {
			t.Errorf("%d reviews", api.asked())
		}
	})
}

func TestAuthorizer_FailedReviewAllowsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		fails error
		is    func(error) bool
	}{
		"unreachable":              {0, errors.New("refused"), apierrors.IsServiceUnavailable},
		"slow":                     {time.Hour, nil, apierrors.IsServiceUnavailable},
		"the service may not ask":  {0, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), apierrors.IsServiceUnavailable},
		"the service is unknown":   {0, apierrors.NewUnauthorized("no"), apierrors.IsServiceUnavailable},
		"a question without sense": {0, apierrors.NewBadRequest("which?"), apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			api := allowing("a")
			api.takes, api.fails = test.takes, test.fails
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				decision, err := a.Authorize(t.Context(), carol, in("a"))
				if !test.is(err) || decision.Allowed {
					t.Errorf("got %+v, %v", decision, err)
				}
				api.set(func() { api.takes, api.fails = 0, nil })
				wantAnswer(t, api, a, in("a"), true, 1)
			})
		})
	}
}

func TestAuthorizer_ReturnsTheCancellationOfTheCaller(t *testing.T) {
	api := allowing("a")
	api.takes = time.Second
	withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if decision, err := a.Authorize(ctx, carol, in("a")); !errors.Is(err, context.Canceled) || decision.Allowed {
			t.Errorf("got %+v, %v", decision, err)
		}
		time.Sleep(2 * time.Second)
	})
}

// TestAuthorizer_GraceExtendsTheLastDecision reviews a permission, and asks again after a time at which
// the API server gives no decision.
func TestAuthorizer_GraceExtendsTheLastDecision(t *testing.T) {
	away := func(api *fakeAPI) { api.fails = errors.New("away") }
	for name, test := range map[string]struct {
		grace   time.Duration
		between func(*testing.T, *fakeAPI, *Authorizer)
		fails   func(*fakeAPI)
		after   time.Duration
		allowed bool
	}{
		"it is away":                     {time.Minute, nil, away, time.Minute, true},
		"it is slow":                     {time.Minute, nil, func(api *fakeAPI) { api.takes = time.Hour }, 30 * time.Second, true},
		"it is away for longer":          {time.Minute, nil, away, 2 * time.Minute, false},
		"there is no grace":              {0, nil, away, 11 * time.Second, false},
		"the permission was lost before": {time.Minute, deniedOnce, away, 11 * time.Second, false},
		"a change was seen":              {time.Minute, func(_ *testing.T, _ *fakeAPI, a *Authorizer) { a.changes.note(subject{name: "carol"}) }, away, 11 * time.Second, false},
		"a change of others was seen":    {time.Minute, func(_ *testing.T, _ *fakeAPI, a *Authorizer) { a.changes.note(subject{name: "dave"}) }, away, 11 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			api := allowing("a")
			withAuthorizer(t, api, func(t *testing.T, a *Authorizer) {
				a.reviews.grace = test.grace
				wantAnswer(t, api, a, in("a"), true, 1)
				if test.between != nil {
					test.between(t, api, a)
				}
				time.Sleep(test.after)
				api.set(func() { test.fails(api) })
				recheck, cancel := context.WithTimeout(WithRecheck(t.Context()), 3*time.Second)
				defer cancel()
				for range 2 * tripAfter { // also when the breaker blocks reviews
					decision, err := a.Authorize(recheck, carol, in("a"))
					if decision.Allowed != test.allowed || (err == nil) != test.allowed {
						t.Fatalf("got %+v, %v", decision, err)
					}
				}
			})
		})
	}
}

func deniedOnce(t *testing.T, api *fakeAPI, a *Authorizer) {
	time.Sleep(11 * time.Second)
	api.set(func() { api.may = allowing().may })
	wantAnswer(t, api, a, in("a"), false, 1)
}

// TestAuthorizer_GraceKeepsTheNamespacesOfACaller is for a caller that may not list all namespaces: the
// denial for all of them counts too.
func TestAuthorizer_GraceKeepsTheNamespacesOfACaller(t *testing.T) {
	api := allowing("a")
	faketime.Test(t, func(t *testing.T) {
		a := NewAuthorizer(api.client(t), AuthorizerOptions{Grace: time.Minute})
		t.Cleanup(a.reviews.lookups.end)
		caller := a.reviews.caller(carol)
		for range 2 {
			all, err := a.reviews.decideOrLast(t.Context(), caller, in(""))
			if err != nil || all.Allowed {
				t.Fatalf("got %+v, %v", all, err)
			}
			time.Sleep(11 * time.Second)
			api.set(func() { api.fails = errors.New("away") })
		}
		if decision, err := a.Authorize(t.Context(), carol, in("")); err == nil {
			t.Errorf("the last denial is returned to a caller: %+v", decision)
		}
	})
}

// conditionalInProtobuf is a review without a decision, with a field of its status that this version does not know.
func conditionalInProtobuf(t *testing.T) []byte {
	t.Helper()
	status, err := (&authorizationv1.SubjectAccessReviewStatus{Reason: "if its label says so"}).Marshal()
	must(t, err)
	status = protowire.AppendTag(status, 5, protowire.BytesType)
	status = protowire.AppendBytes(status, []byte("\x0a\x04acme"))
	review := protowire.AppendTag(nil, 3, protowire.BytesType)
	envelope := runtime.Unknown{
		TypeMeta: runtime.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Raw:      protowire.AppendBytes(review, status),
	}
	body, err := envelope.Marshal()
	must(t, err)
	return append([]byte("k8s\x00"), body...)
}

// TestAuthorizer_ConditionalDecisionIsADenial has responses of authorizers that allow an action under conditions (KEP-5681).
func TestAuthorizer_ConditionalDecisionIsADenial(t *testing.T) {
	const head, conditions = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"user":"carol"},"status":`,
		`"conditionSetChain":[{"authorizerName":"acme","conditionsType":"k8s.io/authorization-cel",` +
			`"conditions":[{"id":"own","effect":"Allow","condition":"object.metadata.labels.owner == 'carol'"}]}]`
	for name, test := range map[string]struct{ contentType, body string }{
		"as an authorizer without an opinion": {"application/json", head + `{"allowed":false,` + conditions + `}}`},
		"as an authorizer that denies":        {"application/json", head + `{"allowed":false,"denied":true,` + conditions + `}}`},
		"with nothing else":                   {"application/json", head + `{` + conditions + `}}`},
		"in another form":                     {"application/json", head + `{"allowed":false,"decision":{"type":"Conditional","allowedIf":["x"]}}}`},
		"in protobuf":                         {"application/vnd.kubernetes.protobuf", string(conditionalInProtobuf(t))},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				_, _ = w.Write([]byte(test.body))
			}))
			defer api.Close()
			factory, err := NewClientFactory(&rest.Config{Host: api.URL}, nil)
			must(t, err)
			authorizer := NewAuthorizer(factory.ForService().Typed, AuthorizerOptions{})
			defer authorizer.reviews.lookups.end()
			decision, err := authorizer.Authorize(t.Context(), carol, in("a"))
			if err != nil || decision.Allowed {
				t.Errorf("got %+v, %v", decision, err)
			}
		})
	}
}
