package console_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// The user of e2e/issuer, as the API server names it and its group.
const (
	issuedUser  = "oidc:ada@example.com"
	issuedGroup = "oidc:engineers"
)

// issuer is an OpenID issuer, with a control plane that trusts it.
type issuer struct {
	url     string
	key     string // the hash of the public key of its certificate
	cluster *harness.Cluster
}

// startIssuer starts an issuer, and then a control plane. Both are stopped when the test ends.
func startIssuer(t *testing.T) issuer {
	t.Helper()
	path, err := harness.Binary("ISSUER_BIN", "issuer")
	if err != nil {
		t.Fatal(err)
	}
	certificate := kit.NewCertificate(t)
	process := kit.StartProcess(t, path, "--cert", certificate.CertFile, "--key", certificate.KeyFile)
	line, err := process.UntilPrints(kit.Deadline(t), func(line string) bool { return strings.HasPrefix(line, "issuer: ") })
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimPrefix(line, "issuer: ")
	cluster, err := harness.StartCluster("--apiserver-arg", "authentication-config="+trustIn(t, url, certificate))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	hash := sha256.Sum256(certificate.Parsed.RawSubjectPublicKeyInfo)
	return issuer{url, base64.StdEncoding.EncodeToString(hash[:]), cluster}
}

// trustIn writes a configuration of an API server that trusts an issuer, and returns its path.
func trustIn(t *testing.T, issuer string, certificate kit.Certificate) string {
	t.Helper()
	authority, err := os.ReadFile(certificate.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	type fields = map[string]any
	content, err := json.Marshal(fields{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AuthenticationConfiguration",
		"jwt": []fields{{
			"issuer": fields{
				"url": issuer, "certificateAuthority": string(authority),
				"audiences": []string{"console", "console-brief"}, "audienceMatchPolicy": "MatchAny",
			},
			"claimMappings": fields{
				"username": fields{"claim": "email", "prefix": "oidc:"},
				"groups":   fields{"claim": "groups", "prefix": "oidc:"},
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "authentication.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startService starts a service whose console offers the issuer, as one of its clients.
func (i issuer) startService(t *testing.T, client, scopes string) *harness.Service {
	t.Helper()
	return harness.StartService(t, i.cluster.Kubeconfig, "--auth", "cluster",
		"--oidc-issuer-url", i.url, "--oidc-client-id", client, "--oidc-scopes", scopes)
}

// namespaceOf creates a namespace in which a user or group can read most objects.
func (i issuer) namespaceOf(ctx context.Context, t *testing.T, kind, name string) string {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, i.cluster)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}},
	}
	if _, err := i.cluster.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return namespace
}

func TestSignInWithIssuer(t *testing.T) {
	t.Parallel()
	issuer := startIssuer(t)
	for name, test := range map[string]func(*testing.T){
		"the user sees what RBAC allows, and the tokens stay secret": issuer.signsIn,
		"tokens are renewed without the user":                        issuer.renewsTokens,
		"without a refresh token the user signs in again":            issuer.signsInAgain,
		"an answer that was not requested is refused":                issuer.refusesAnswers,
	} {
		t.Run(name, test)
	}
}

func (i issuer) signsIn(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), i.startService(t, "console", "openid,profile,email,offline_access")
	ofGroup, ofUser := i.namespaceOf(ctx, t, "Group", issuedGroup), i.namespaceOf(ctx, t, "User", issuedUser)
	other := kit.NewNamespace(ctx, t, i.cluster)
	configMaps := kit.ConfigMapsIn(ctx, t, i.cluster, ofGroup)
	configMaps.Create("one", nil)
	configMaps.Create("two", nil)
	browser := startConsole(t, "signin-issuer.mjs", service.Address, i.url, i.key, ofGroup, ofUser, other, artifacts(t))

	var page struct {
		Words, User, Address  string
		Names, Places, Faults []string
		Tokens, Tables, Shown int
	}
	if browser.Step(ctx, "asked", &page); len(page.Faults) > 0 {
		t.Errorf("faults of the sign-in page: %q", page.Faults)
	}
	browser.Step(ctx, "signed in", &page)
	kit.WantNames(t, "the page shows", page.Names, []string{"kube-root-ca.crt", "one", "two"})
	if want := service.Address + "/r/configmaps?ns=" + ofGroup + "&sort=metadata.name#top"; page.Address != want {
		t.Errorf("the sign-in has returned to %s, want %s", page.Address, want)
	}
	if page.User != issuedUser {
		t.Errorf("the page shows the user %q, want %q", page.User, issuedUser)
	}
	if browser.Step(ctx, "kept", &page); page.Tokens != 1 || len(page.Places) > 0 {
		t.Errorf("after %d tokens the page has secrets in %q", page.Tokens, page.Places)
	}
	browser.Step(ctx, "as the user", &page)
	kit.WantNames(t, "with the user's permissions the page shows", page.Names, []string{"kube-root-ca.crt"})
	browser.Step(ctx, "forbidden", &page)
	kit.WantWords(t, page.Words, "You may not list configmaps here")
	if browser.Step(ctx, "signed out", &page); page.Tables > 0 || len(page.Places) > 0 || len(page.Faults) > 0 {
		t.Errorf("after the sign-out the page has %d tables, secrets in %q, and the faults %q", page.Tables, page.Places, page.Faults)
	}
	if browser.Step(ctx, "signed out of the issuer", &page); page.Shown > 0 {
		t.Error("the address of the sign-out contains secrets")
	}
	browser.Ends(ctx)
}

func (i issuer) renewsTokens(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.WaitTimeout+2*kit.CredentialLife)
	service, namespace := i.startService(t, "console-brief", "openid,email,offline_access"), i.namespaceOf(ctx, t, "User", issuedUser)
	browser := startConsole(t, "signin-renewed.mjs", service.Address, i.url, i.key, namespace, "1", "2")

	var page struct {
		Names, Places   []string
		Dialogs, Tokens int
	}
	browser.Step(ctx, "live", &page)
	browser.Step(ctx, "renewed", &page)
	kit.ConfigMapsIn(ctx, t, i.cluster, namespace).Create("later", nil)
	browser.Step(ctx, "live again", &page)
	kit.WantNames(t, "after the renewal the page shows", page.Names, []string{"kube-root-ca.crt", "later"})
	if page.Dialogs > 0 || page.Tokens < 3 {
		t.Errorf("%d dialogs with %d tokens, want none with 3 or more", page.Dialogs, page.Tokens)
	}
	if len(page.Places) > 0 {
		t.Errorf("the page has secrets in %q", page.Places)
	}
	browser.Ends(ctx)
}

func (i issuer) signsInAgain(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.WaitTimeout+kit.CredentialLife)
	service, namespace := i.startService(t, "console-brief", "openid,email"), i.namespaceOf(ctx, t, "User", issuedUser)
	browser := startConsole(t, "signin-issuer-again.mjs", service.Address, i.url, i.key, namespace, "1", artifacts(t))

	var page struct {
		Words, Address string
		Names          []string
	}
	browser.Step(ctx, "live", &page)
	address := page.Address
	browser.Step(ctx, "expired", &page)
	kit.WantWords(t, page.Words, "has expired", issuedUser)
	browser.Step(ctx, "live again", &page)
	kit.WantNames(t, "after the second sign-in the page shows", page.Names, []string{"kube-root-ca.crt"})
	if page.Address != address {
		t.Errorf("the address has changed from %s to %s", address, page.Address)
	}
	browser.Ends(ctx)
}

func (i issuer) refusesAnswers(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), i.startService(t, "console", "openid,email")
	namespace := i.namespaceOf(ctx, t, "User", issuedUser)
	browser := startConsole(t, "signin-refused.mjs", service.Address, i.url, i.key, namespace, "1", artifacts(t))

	var page struct {
		Words, Address string
		Names, Faults  []string
		Tokens         int
	}
	browser.Step(ctx, "canceled", &page)
	kit.WantWords(t, page.Words, "refused the sign-in", "the user has canceled the <b>login</b>")
	if want := service.Address + "/r/configmaps?ns=" + namespace; page.Address != want {
		t.Errorf("the issuer's error is at %s, want %s", page.Address, want)
	}
	if len(page.Faults) > 0 {
		t.Errorf("faults of the page: %q", page.Faults)
	}
	for _, step := range []string{"wrong state", "no request"} {
		browser.Step(ctx, step, &page)
		kit.WantWords(t, page.Words, "not started in this tab")
		if page.Tokens > 0 {
			t.Errorf("%s: the page has requested a token", step)
		}
	}
	browser.Step(ctx, "signed in", &page)
	kit.WantNames(t, "the page shows", page.Names, []string{"kube-root-ca.crt"})
	browser.Ends(ctx)
}
