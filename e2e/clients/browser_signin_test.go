package clients_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestBrowser_ShowsObjectsThatTheTokenMayRead(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace, other := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 3, kit.Labels{})
	kit.CreateUnscheduledPod(ctx, t, other, "of-others")
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	caller.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	browser := startProgram(t, kit.NodeProgram(t, "browser", "signin.mjs"), service.Address+"/", caller.Token(), "3", artifacts(t))

	var page struct {
		Words, Caller string
		Names, Kept   []string
	}
	browser.Step(ctx, "asked", &page)
	kit.WantWords(t, page.Words, "unauthenticated")
	browser.Step(ctx, "dismissed", &page)
	kit.WantWords(t, page.Words, "Sign in")
	browser.Step(ctx, "refused", &page)
	kit.WantWords(t, page.Words, "the cluster does not accept the bearer token")
	browser.Step(ctx, "signed in", &page)
	kit.WantNames(t, "the page shows", page.Names, kit.PodNames(ctx, t, namespace, ""))
	if page.Caller != caller.User() {
		t.Errorf("the page shows the caller %q, want %q", page.Caller, caller.User())
	}
	if len(page.Kept) > 0 {
		t.Errorf("the page has the token in %q", page.Kept)
	}
	var phone struct{ Overflow int }
	browser.Step(ctx, "on a phone", &phone)
	if phone.Overflow > 0 {
		t.Errorf("horizontal overflow of %d pixels on a phone", phone.Overflow)
	}
	browser.Step(ctx, "signed out", &page)
	if len(page.Names) > 0 || page.Caller != "" {
		t.Errorf("after the sign-out the page shows %q and the caller %q", page.Names, page.Caller)
	}
	browser.Step(ctx, "asked again", &page)
	kit.WantWords(t, page.Words, "unauthenticated")
	browser.Ends(ctx)
}

func TestBrowser_ContinuesAfterItsTokenIsRenewed(t *testing.T) {
	t.Parallel()
	const life = 3 * kit.CredentialLife / 2 // a browser is slow to start
	ctx, service := kit.DeadlineAfter(t, kit.WaitTimeout+life), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	caller.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	token := caller.Token()
	expiring := caller.ExpiringToken(time.Now().Add(life))
	browser := startProgram(t, kit.NodeProgram(t, "browser", "signin-expired.mjs"),
		pageOf(service, namespace), expiring, token, "2", "4", artifacts(t))

	before := kit.PodNames(ctx, t, namespace, "")
	var page struct {
		Words string
		Names []string
	}
	browser.Step(ctx, "live", &page)
	kit.WantNames(t, "the page shows", page.Names, before)
	browser.Step(ctx, "expired", &page)
	kit.WantWords(t, page.Words, "the credential has expired")
	kit.WantNames(t, "with an expired token the page shows", page.Names, before)
	scaleDeployment(ctx, t, namespace, "web", 4)
	browser.Step(ctx, "live again", &page)
	kit.WantNames(t, "with a new token the page shows", page.Names, kit.PodNames(ctx, t, namespace, ""))
	browser.Ends(ctx)
}

func TestBrowser_ShowsThePermissionErrorUntilAGrant(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.CreateUnscheduledPod(ctx, t, namespace, "one")
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	browser := startProgram(t, kit.NodeProgram(t, "browser", "signin-forbidden.mjs"), service.Address+"/", caller.Token(), "1", artifacts(t))

	var page struct {
		Words, Caller string
		Names         []string
		Refusal       bool
	}
	browser.Step(ctx, "forbidden", &page)
	kit.WantWords(t, page.Words, "pods is forbidden", caller.User(), "cannot list")
	if page.Caller != caller.User() {
		t.Errorf("the page shows the caller %q, want %q", page.Caller, caller.User())
	}
	caller.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	browser.Step(ctx, "live", &page)
	kit.WantNames(t, "the page shows", page.Names, []string{"one"})
	if page.Refusal {
		t.Error("the page still shows the permission error")
	}
	browser.Ends(ctx)
}
