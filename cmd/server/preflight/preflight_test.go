package preflight

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
)

func TestClock_ReportsTheDifference(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for difference, want := range map[time.Duration]struct {
		outcome Outcome
		says    string
	}{
		0:                 {OK, "within 5 seconds"},
		-4 * time.Second:  {OK, "within 5 seconds"},
		20 * time.Second:  {Warning, "20s behind the API server"},
		-20 * time.Second: {Warning, "20s ahead of the API server"},
		3 * time.Minute:   {Failed, "3m0s behind the API server"},
		-time.Hour:        {Failed, "1h0m0s ahead of the API server"},
	} {
		header := now.Add(difference).Format(http.TimeFormat)
		if got := clock(header, now.Add(time.Second/2)); got.Outcome != want.outcome || !strings.Contains(got.Found, want.says) {
			t.Errorf("%s: %+v, want %s with %q", difference, got, want.outcome, want.says)
		}
	}
	if got := clock("", now); got.Outcome != Warning {
		t.Errorf("without a date: %+v", got)
	}
}

func TestConnection_ErrorsSayWhatToDo(t *testing.T) {
	server := &url.URL{Scheme: "https", Host: "api.example:6443"}
	for says, err := range map[string]error{
		"not signed by the CA of the kubeconfig":     x509.UnknownAuthorityError{},
		"is not for api.example":                     x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.example"},
		"has expired, or the clock":                  x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired},
		"the name api.example of the API server has": &net.DNSError{Name: "api.example"},
		"nothing accepts connections":                syscall.ECONNREFUSED,
		"does not respond within 10s":                context.DeadlineExceeded,
		"something else":                             errors.New("something else"),
	} {
		got := unreachable(server, &url.Error{Op: "Get", URL: server.String(), Err: fmt.Errorf("wrapped: %w", err)})
		if got.Outcome != Failed || !strings.Contains(got.Found, says) || got.Consequence == "" || got.Remedy == "" {
			t.Errorf("%v: %+v, want %q", err, got, says)
		}
	}
}

// TestRun_FollowsNoRedirect has an API server that redirects its clients to another host, where the
// credential of the service must not arrive: first every request, and then all but the first one.
func TestRun_FollowsNoRedirect(t *testing.T) {
	var arrived atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		_, _ = w.Write([]byte("{}"))
	}))
	defer other.Close()
	for failing, answers := range map[string]bool{"connection": false, "credential": true} {
		t.Run(failing, func(t *testing.T) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if answers && r.URL.Path == "/version" {
					_, _ = w.Write([]byte("{}"))
					return
				}
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
			}))
			defer api.Close()
			results := Run(t.Context(), Features{Cluster: &rest.Config{Host: api.URL, BearerToken: "service"}})
			if !slices.ContainsFunc(results, func(r Result) bool { return r.Check == failing && r.Outcome == Failed }) {
				t.Errorf("a redirect is accepted as a response: %+v", results)
			}
			if arrived.Load() != 0 {
				t.Errorf("%d requests have arrived at the other host", arrived.Load())
			}
		})
	}
}

func TestLeft_IsInWords(t *testing.T) {
	for left, want := range map[time.Duration]string{
		time.Minute: "less than an hour", 90 * time.Minute: "1 hour", 47 * time.Hour: "47 hours", 48 * time.Hour: "2 days", 100 * time.Hour: "4 days",
	} {
		if got := Left(left); got != want {
			t.Errorf("%s: %q, want %q", left, got, want)
		}
	}
}

// reviewerOf returns the reviewer of an account that is denied some permissions, written as describe
// writes them.
func reviewerOf(denied ...string) reviewer {
	return reviewer{fakeClient(denied...).AuthorizationV1().SelfSubjectAccessReviews(), "system:serviceaccount:team:hub"}
}

// fakeClient returns the client of that account.
func fakeClient(denied ...string) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		reviewed := describe([]question{question(review.Spec)})
		review.Status.Allowed = true
		for _, one := range denied {
			if one == reviewed {
				review.Status.Allowed = false
			}
		}
		return true, review, nil
	})
	return client
}

func TestPermissions_OnlyWhatIsMissingIsGranted(t *testing.T) {
	result := reviewerOf("watch roles.rbac.authorization.k8s.io", "list rolebindings.rbac.authorization.k8s.io", "watch rolebindings.rbac.authorization.k8s.io").
		check(t.Context(), callerNeeds[2])
	const want = "not allowed to list, watch rolebindings.rbac.authorization.k8s.io; watch roles.rbac.authorization.k8s.io"
	if result.Outcome != Warning || result.Found != want {
		t.Errorf("%+v, want %s", result, want)
	}
	const command = `kubectl auth reconcile -f - <<'EOF'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kubeconnect-check-team-hub
rules:
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - rolebindings
  verbs:
  - list
  - watch
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - roles
  verbs:
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubeconnect-check-team-hub
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: kubeconnect-check-team-hub
subjects:
- kind: ServiceAccount
  name: hub
  namespace: team
EOF
`
	if result.Grant != command {
		t.Errorf("got\n%s\nwant\n%s", result.Grant, command)
	}
}

func TestPermissions_DependOnTheFeatures(t *testing.T) {
	for want, features := range map[string]Features{
		"custom resources, aggregated APIs": {FollowsTokens: true, Impersonates: true},
		"authentication, authorization, RBAC, client certificates, custom resources, aggregated APIs": {AuthenticatesCallers: true},
		"authentication, authorization, RBAC, client certificates, service accounts, pods of tokens, keys of tokens, " +
			"impersonation, custom resources, aggregated APIs": {
			AuthenticatesCallers: true, FollowsTokens: true, Impersonates: true,
		},
		"authentication, authorization, RBAC, client certificates, impersonation, impersonation for logs, custom resources, aggregated APIs": {
			AuthenticatesCallers: true, Constrained: true,
		},
	} {
		var names []string
		for _, need := range features.needs() {
			names = append(names, need.check)
			if result := reviewerOf().check(t.Context(), need); result.Outcome != OK {
				t.Errorf("with all permissions: %+v", result)
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%+v needs %s, want %s", features, got, want)
		}
	}
}

// TestLimits_SayWhetherImpersonationIsConstrained checks an account by what it is denied, at API servers of
// some versions.
func TestLimits_SayWhetherImpersonationIsConstrained(t *testing.T) {
	for name, test := range map[string]struct {
		server  string
		denied  []string
		outcome Outcome
		says    string
	}{
		"only what is granted": {"v1.36.0", []string{"impersonate users"}, OK, "only for the requests"},
		"a later version":      {"v1.40.2-gke.100", []string{"impersonate users"}, OK, "only for the requests"},
		"everything":           {"v1.37.1", nil, Warning, "without a limit"},
		"an earlier version":   {"v1.35.4", []string{"impersonate users"}, Warning, "Kubernetes v1.35.4 has no constrained impersonation"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fakeClient(test.denied...)
			client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: test.server}
			if got := limits(t.Context(), client); got.Outcome != test.outcome || !strings.Contains(got.Found, test.says) {
				t.Errorf("%+v, want %s with %q", got, test.outcome, test.says)
			}
		})
	}
}

func TestGrant_NamesUsersAndRolesOfTheCluster(t *testing.T) {
	command := Grant("jane@example.com/admins", &Permissions{ClientAuthorities: true}, &Permissions{Rules: []rbacv1.PolicyRule{
		{NonResourceURLs: []string{"/openid/v1/jwks"}, Verbs: []string{"get"}},
	}})
	for _, want := range []string{
		"  name: kubeconnect-check-jane@example.com-admins\n", "- nonResourceURLs:\n  - /openid/v1/jwks\n",
		"  kind: Role\n  name: extension-apiserver-authentication-reader\n", "  kind: User\n  name: jane@example.com/admins\n",
	} {
		if !strings.Contains(command, want) {
			t.Errorf("without %q: %s", want, command)
		}
	}
}

func TestIssuer_IsComparedWithTheSettings(t *testing.T) {
	document := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" || document == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(document, "SELF", "http://"+r.Host)))
	}))
	defer server.Close()
	const whole = `{"issuer":"SELF","authorization_endpoint":"SELF/a","token_endpoint":"SELF/t","code_challenge_methods_supported":["S256"]}`
	for _, test := range []struct {
		document string
		outcome  Outcome
		says     string
	}{
		{whole, OK, "responds"},
		{"", Warning, "404"},
		{"<html>", Warning, "something else than JSON"},
		{strings.Replace(whole, `"SELF"`, `"SELF/"`, 1), Failed, `calls itself "` + server.URL + `/"`},
		{strings.Replace(whole, "S256", "plain", 1), Failed, "PKCE"},
		{strings.Replace(whole, "SELF/t", "https://tokens.example/t", 1), Failed, "at another origin"},
		{strings.Replace(whole, "SELF/t", "", 1), Failed, "no authorization or token endpoint"},
	} {
		document = test.document
		got := issuer(t.Context(), server.Client().Transport, Features{IssuerURL: server.URL})
		if got.Outcome != test.outcome || !strings.Contains(got.Found, test.says) {
			t.Errorf("%s: %+v, want %s with %q", test.document, got, test.outcome, test.says)
		}
	}
}

func TestPeers_AreLookedUp(t *testing.T) {
	if got := peers(t.Context(), "127.0.0.1:9090"); got.Outcome != OK {
		t.Errorf("%+v", got)
	}
	if got := peers(t.Context(), "no port"); got.Outcome != Failed {
		t.Errorf("%+v", got)
	}
}

// TestConnection_ShowsNoPassword connects to a server with a password in its address.
func TestConnection_ShowsNoPassword(t *testing.T) {
	for name, body := range map[string]string{"an API server": `{"gitVersion":"v1.37.0"}`, "another server": "hello"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
			t.Cleanup(server.Close)
			results, _ := connection(t.Context(), &rest.Config{Host: strings.Replace(server.URL, "http://", "http://user:secret@", 1)})
			if text := fmt.Sprintf("%+v", results); strings.Contains(text, "secret") || !strings.Contains(text, "responds") {
				t.Errorf("the results are %s", text)
			}
		})
	}
}

// TestResources_LimitsWithoutAnEffectAreReported has names of resources that the cluster serves, and others.
func TestResources_LimitsWithoutAnEffectAreReported(t *testing.T) {
	api := fakeapi.New(t, fakeapi.Core, fakeapi.Widgets)
	hub, err := informerhub.New(api.Config(), informerhub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	settings := config.Settings{
		Uncached: []string{"po", "podz"}, Select: []string{"Pod=a=b", "widgets.example.com=a=b", "nosuch=a=b"}, SelectFields: []string{"pods.v1=spec.nodeName=n", "none=a=b"},
	}
	var reported []string
	for _, result := range (Features{Resolver: hub.Resolver(), Namespaces: hub.Namespaces, Limits: settings.CacheLimits()}).resources(t.Context(), reviewerOf()) {
		if result.Outcome == Warning && result.Consequence != "" {
			reported = append(reported, result.Check)
		}
	}
	if want := []string{"--uncached podz", "--select nosuch", "--select-fields none"}; !slices.Equal(reported, want) {
		t.Errorf("got %q, want %q", reported, want)
	}
}
