package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// withCluster runs a test with fake time, with an authenticator that uses api.
func withCluster(t *testing.T, api *fakeAPI, options ClusterAuthenticatorOptions, test func(*testing.T, *ClusterAuthenticator)) {
	t.Helper()
	faketime.Test(t, func(t *testing.T) {
		cluster := NewClusterAuthenticator(api.client(t), options)
		running(t, cluster.Run)
		synctest.Wait()
		test(t, cluster)
	})
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestClusterAuthenticator_AcceptedTokenIsReviewedAgainAfterTenSeconds(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		for range 3 {
			identity, err := cluster.Authenticate(t.Context(), bearer("a"))
			if err != nil || identity.Username != "alice" || !identity.Expires.IsZero() {
				t.Fatalf("got %+v, %v", identity, err)
			}
		}
		time.Sleep(acceptedTTL - time.Second)
		_, _ = cluster.Authenticate(t.Context(), bearer("a"))
		if api.asked() != 1 {
			t.Errorf("%d reviews", api.asked())
		}
		time.Sleep(2 * time.Second)
		_, _ = cluster.Authenticate(t.Context(), bearer("a"))
		if api.asked() != 2 {
			t.Errorf("%d reviews after ten seconds", api.asked())
		}
	})
}

func TestClusterAuthenticator_TokenIsNotCachedBeyondItsExpiry(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		ends := time.Now().Add(3 * time.Second).Truncate(time.Second)
		token := jwt(fmt.Sprintf(`{"exp":%d}`, ends.Unix()))
		identity, err := cluster.Authenticate(t.Context(), bearer(token))
		if err != nil || !identity.Expires.Equal(ends) {
			t.Fatalf("got %+v, %v", identity, err)
		}
		time.Sleep(time.Until(ends) + time.Millisecond)
		api.set(func() { api.user = authenticationv1.TokenReviewStatus{} })
		if _, err := cluster.Authenticate(t.Context(), bearer(token)); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
	})
}

func TestClusterAuthenticator_ExpiredTokenIsRejectedWithoutAReview(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		for ago, want := range map[time.Duration]error{0: ErrExpired, time.Hour: ErrExpired, -2 * time.Second: nil} {
			token := jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(-ago).Unix()))
			if _, err := cluster.Authenticate(t.Context(), bearer(token)); !errors.Is(err, want) {
				t.Errorf("ended %s ago, answers %v", ago, err)
			}
		}
		if api.asked() != 1 {
			t.Errorf("%d reviews", api.asked())
		}
	})
}

func TestClusterAuthenticator_RejectedTokensAreCachedSeparately(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		_, err := cluster.Authenticate(t.Context(), bearer("good"))
		must(t, err)
		api.set(func() { api.user = authenticationv1.TokenReviewStatus{} })
		for i := range 2 * maxRefused {
			if i%maxWaiting == 0 {
				time.Sleep(rejectionPenalty)
				synctest.Wait() // until the slots have been released
			}
			_, err := cluster.Authenticate(calledFrom(t, i), bearer(fmt.Sprintf("invalid-%d", i)))
			if !errors.Is(err, ErrUnauthenticated) {
				t.Fatalf("got %v", err)
			}
		}
		asked := api.asked()
		for _, token := range []string{"good", fmt.Sprintf("invalid-%d", 2*maxRefused-1)} {
			_, _ = cluster.Authenticate(t.Context(), bearer(token))
		}
		if api.asked() != asked {
			t.Errorf("%d more reviews", api.asked()-asked)
		}
		if kept := len(cluster.tokens.rejected.Keys()); kept != maxRefused {
			t.Errorf("%d entries are cached", kept)
		}
	})
}

func TestClusterAuthenticator_CallersWithOneTokenShareAReview(t *testing.T) {
	api := accepting()
	api.takes = 4 * time.Second
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		var all sync.WaitGroup
		hasty, leave := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := cluster.Authenticate(hasty, bearer("a")); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnauthenticated) {
				t.Errorf("the caller that left got %v", err)
			}
		})
		synctest.Wait() // the review is started by the caller that leaves
		for range 10 {
			all.Go(func() {
				if identity, err := cluster.Authenticate(t.Context(), bearer("a")); err != nil || identity.Username != "alice" {
					t.Errorf("got %+v, %v", identity, err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if api.asked() != 1 || api.abandoned != 0 {
			t.Errorf("asked %d times, %d abandoned", api.asked(), api.abandoned)
		}
	})
}

func TestClusterAuthenticator_FailedReviewIsNoRejection(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		fails error
	}{
		"unreachable":                       {0, errors.New("connection refused, token secret")},
		"slow":                              {time.Hour, nil},
		"the service is not known":          {0, apierrors.NewUnauthorized("secret")},
		"the service may not ask":           {0, apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "", errors.New("no"))},
		"the API server has a lot to do":    {0, apierrors.NewTooManyRequests("later", 0)},
		"the API server is out of its mind": {0, apierrors.NewInternalError(errors.New("secret"))},
	} {
		t.Run(name, func(t *testing.T) {
			api := accepting()
			api.takes, api.fails = test.takes, test.fails
			withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
				began := time.Now()
				identity, err := cluster.Authenticate(t.Context(), bearer("secret"))
				if !apierrors.IsServiceUnavailable(err) || errors.Is(err, ErrUnauthenticated) || identity.Username != "" {
					t.Errorf("got %+v, %v", identity, err)
				}
				if strings.Contains(fmt.Sprint(err), "secret") || time.Since(began) > lookupTimeout {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				api.set(func() { api.takes, api.fails = 0, nil })
				if _, err := cluster.Authenticate(t.Context(), bearer("secret")); err != nil {
					t.Errorf("the error is cached: %v", err)
				}
			})
		})
	}
}

func TestClusterAuthenticator_ReturnsTheDeadlineErrorOfTheCaller(t *testing.T) {
	api := accepting()
	api.takes = 5 * time.Second
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cluster.Authenticate(ctx, bearer("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestClusterAuthenticator_RejectsAnonymousUsersAndOtherAudiences(t *testing.T) {
	for name, test := range map[string]struct {
		audiences []string
		status    authenticationv1.TokenReviewStatus
		says      string
	}{
		"not authenticated":              {nil, authenticationv1.TokenReviewStatus{User: authenticationv1.UserInfo{Username: "a"}}, "does not accept"},
		"not authenticated, for us":      {[]string{"us"}, authenticationv1.TokenReviewStatus{Audiences: []string{"us"}}, "--audience us"},
		"no name":                        {nil, authenticationv1.TokenReviewStatus{Authenticated: true}, "names no user"},
		"anonymous":                      {nil, authenticated(userAnonymous), "anonymous"},
		"of the group of nobody":         {nil, authenticated("a", groupUnauthenticated), "anonymous"},
		"another audience":               {[]string{"us"}, withAudiences(authenticated("a"), "them"), "audience us"},
		"no audience known":              {[]string{"us"}, authenticated("a"), "audience us"},
		"an audience that looks like us": {[]string{"us"}, withAudiences(authenticated("a"), "us2", "US", ""), "audience us"},
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeAPI{user: test.status}
			withCluster(t, api, ClusterAuthenticatorOptions{Audiences: test.audiences}, func(t *testing.T, cluster *ClusterAuthenticator) {
				identity, err := cluster.Authenticate(t.Context(), bearer("secret"))
				if !errors.Is(err, ErrUnauthenticated) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") {
					t.Errorf("error is %v, want %q", err, test.says)
				}
				if identity.Username != "" {
					t.Errorf("the identity is %+v", identity)
				}
			})
		})
	}
}

func authenticated(name string, groups ...string) authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name, Groups: groups}}
}

func withAudiences(status authenticationv1.TokenReviewStatus, audiences ...string) authenticationv1.TokenReviewStatus {
	status.Audiences = audiences
	return status
}

func TestClusterAuthenticator_InvalidCredentialNeedsNoReview(t *testing.T) {
	api := accepting()
	withCluster(t, api, ClusterAuthenticatorOptions{}, func(t *testing.T, cluster *ClusterAuthenticator) {
		for _, header := range []http.Header{{}, {"Authorization": {"Basic x"}}, {"Authorization": {"Bearer a", "Bearer b"}}} {
			if _, err := cluster.Authenticate(t.Context(), header); !errors.Is(err, ErrUnauthenticated) {
				t.Errorf("got %v", err)
			}
		}
		if api.asked() != 0 {
			t.Errorf("%d reviews", api.asked())
		}
	})
}

func TestClusterAuthenticator_FailsAfterRunHasEnded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := accepting()
		api.takes = time.Hour
		cluster := NewClusterAuthenticator(api.client(t), ClusterAuthenticatorOptions{})
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { cluster.Run(ctx) })
		ended.Go(func() { _, _ = cluster.Authenticate(t.Context(), bearer("a")) })
		synctest.Wait()
		stop()
		began := time.Now()
		ended.Wait()
		if time.Since(began) > 0 {
			t.Errorf("it took %s to shut down", time.Since(began))
		}
		if _, err := cluster.Authenticate(t.Context(), bearer("b")); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestClusterAuthenticator_KeepsTokensOnlyWithKeepTokens(t *testing.T) {
	for keep, want := range map[bool]string{false: "", true: "a"} {
		withCluster(t, accepting(), ClusterAuthenticatorOptions{KeepTokens: keep}, func(t *testing.T, cluster *ClusterAuthenticator) {
			identity, err := cluster.Authenticate(t.Context(), bearer("a"))
			must(t, err)
			if (identity.token != nil) != keep || keep && identity.token() != want {
				t.Errorf("the token is kept: %v", identity.token != nil)
			}
		})
	}
}

// TestClusterAuthenticator_GraceExtendsTheLastAcceptance reviews a token, and calls again at a time at
// which the API server reviews none.
func TestClusterAuthenticator_GraceExtendsTheLastAcceptance(t *testing.T) {
	for name, test := range map[string]struct {
		token   string
		between func(*fakeAPI)
		after   time.Duration
		want    bool
	}{
		"within the grace":            {"a", nil, time.Minute, true},
		"after it":                    {"a", nil, 2 * time.Minute, false},
		"it was rejected before that": {"a", func(api *fakeAPI) { api.refuses = "a" }, 12 * time.Second, false},
		"another token":               {"b", nil, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			api := accepting()
			withCluster(t, api, ClusterAuthenticatorOptions{Grace: time.Minute}, func(t *testing.T, cluster *ClusterAuthenticator) {
				if _, err := cluster.Authenticate(t.Context(), bearer("a")); err != nil {
					t.Fatal(err)
				}
				if test.between != nil {
					api.set(func() { test.between(api) })
					time.Sleep(11 * time.Second)
					if _, err := cluster.Authenticate(t.Context(), bearer("a")); !errors.Is(err, ErrUnauthenticated) {
						t.Fatal(err)
					}
				}
				time.Sleep(test.after)
				api.set(func() { api.fails = errors.New("away") })
				if identity, err := cluster.Authenticate(t.Context(), bearer(test.token)); (err == nil) != test.want {
					t.Errorf("got %+v, %v", identity, err)
				}
			})
		})
	}
}

func TestBearerToken_ReadFromOneAuthorizationHeader(t *testing.T) {
	for name, test := range map[string]struct {
		values []string
		token  string
		says   string // of the error; empty if there is none
	}{
		"none":                    {nil, "", ""},
		"a token":                 {[]string{"Bearer abc.def-_~+/="}, "abc.def-_~+/=", ""},
		"in other letters":        {[]string{"bEARER abc"}, "abc", ""},
		"with spaces about":       {[]string{"  Bearer   abc "}, "abc", ""},
		"a token from a file":     {[]string{"Bearer a:b!c"}, "a:b!c", ""},
		"an empty header":         {[]string{""}, "", "does not begin with Bearer"},
		"a scheme alone":          {[]string{"Bearer"}, "", "no token"},
		"a scheme and a space":    {[]string{"Bearer "}, "", "no token"},
		"a token alone":           {[]string{"secret"}, "", "does not begin with Bearer"},
		"a scheme run together":   {[]string{"Bearer:secret"}, "", "does not begin with Bearer"},
		"another scheme":          {[]string{"Secret secret"}, "", "does not begin with Bearer"},
		"Basic":                   {[]string{"Basic c2VjcmV0"}, "", "does not support Basic"},
		"two tokens":              {[]string{"Bearer secret other"}, "", "a space"},
		"two tokens with a comma": {[]string{"Bearer secret,Bearer"}, "", "a comma"},
		"a tab":                   {[]string{"Bearer se\tcret"}, "", "character"},
		"a zero":                  {[]string{"Bearer se\x00cret"}, "", "character"},
		"what is not ASCII":       {[]string{"Bearer sécret"}, "", "character"},
		"two headers":             {[]string{"Bearer secret", "Bearer other"}, "", "2 Authorization headers"},
		"two headers of one kind": {[]string{"Bearer secret", "Bearer secret"}, "", "2 Authorization headers"},
		"as long as may be":       {[]string{"Bearer " + strings.Repeat("a", maxToken)}, strings.Repeat("a", maxToken), ""},
		"too long":                {[]string{"Bearer " + strings.Repeat("a", maxToken+1)}, "", "65537 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := bearerToken(http.Header{"Authorization": test.values})
			if token != test.token || (err == nil) != (test.says == "") {
				t.Fatalf("got %q, %v", token, err)
			}
			if err == nil {
				return
			}
			if !errors.Is(err, ErrUnauthenticated) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %q", err, test.says)
			}
			for _, part := range []string{"secret", "other", "c2V", "cret"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error contains the credential: %v", err)
				}
			}
		})
	}
}

func FuzzBearerToken(f *testing.F) {
	for _, seed := range []string{"", "Bearer a", "bearer  a ", "Basic YTpi", "Bearer a b", "Bearer a,b", "Bearer é", "\x00"} {
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, value string, twice bool) {
		header := http.Header{"Authorization": {value}}
		if twice {
			header.Add("Authorization", value)
		}
		token, err := bearerToken(header)
		switch {
		case err != nil:
			if !errors.Is(err, ErrUnauthenticated) || token != "" {
				t.Errorf("got %q, %v", token, err)
			}
		case twice, token == "", len(token) > maxToken, !strings.Contains(value, token), strings.ContainsFunc(token, notInToken):
			t.Errorf("%q is parsed as the token %q", value, token)
		}
	})
}

func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestExpiry_ReadFromTheTokenIfPresent(t *testing.T) {
	second := time.Unix(1800000000, 0)
	for name, test := range map[string]struct {
		token string
		want  time.Time
	}{
		"an end":                  {jwt(`{"exp":1800000000}`), second},
		"an end with a fraction":  {jwt(`{"exp":1800000000.75}`), second},
		"an end in powers of ten": {jwt(`{"exp":1.8e9}`), second},
		"an end among others":     {jwt(`{"iss":"x","exp":1800000000,"kubernetes.io":{"exp":1}}`), second},
		"no end":                  {jwt(`{"iss":"x"}`), time.Time{}},
		"an end that is none":     {jwt(`{"exp":null}`), time.Time{}},
		"an end as text":          {jwt(`{"exp":"1800000000"}`), time.Time{}},
		"an end before all":       {jwt(`{"exp":-1}`), time.Time{}},
		"an end at zero":          {jwt(`{"exp":0}`), time.Time{}},
		"an end after all":        {jwt(`{"exp":1e300}`), time.Time{}},
		"claims that are none":    {jwt(`[1]`), time.Time{}},
		"claims cut off":          {jwt(`{"exp":1800000000`), time.Time{}},
		"what is not base64":      {"a.!.b", time.Time{}},
		"two parts":               {"e30.e30", time.Time{}},
		"five parts":              {jwt(`{"exp":1800000000}`) + ".a.b", time.Time{}},
		"no JWT":                  {"abc", time.Time{}},
		"nothing":                 {"", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := expiry(test.token); !got.Equal(test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func FuzzExpiry(f *testing.F) {
	for _, seed := range []string{`{"exp":1}`, `{"exp":1e99}`, `{"exp":-0}`, `[]`, `{"exp":"1"}`, `{"exp":{}}`} {
		f.Add("e30.", seed, ".x")
	}
	f.Fuzz(func(t *testing.T, before, claims, after string) {
		for _, token := range []string{before + claims + after, before + base64.RawURLEncoding.EncodeToString([]byte(claims)) + after} {
			if end := expiry(token); !end.IsZero() && (end.Unix() < 0 || end.Unix() > lastSecond) {
				t.Errorf("expires at %s", end)
			}
		}
	})
}
