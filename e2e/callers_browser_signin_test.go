package e2e_test

import (
	"testing"
	"time"
)

func TestBrowser_ShowsObjectsThatTheTokenMayRead(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), startForCallers(t)
	namespace, other := newNamespace(ctx, t, cluster(t)), newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 3, labels{})
	createUnscheduledPod(ctx, t, other, "of-others")
	caller := newAccount(ctx, t, namespace, "reader")
	caller.grantIn(namespace, "reader", rule("pods", "list", "watch"))
	browser := startProgram(t, nodeProgram("browser", "signin.mjs"), service.Address+"/", caller.token(), "3", artifacts(t))

	var page struct {
		Words, Caller string
		Names, Kept   []string
	}
	browser.step(ctx, "asked", &page)
	wantWords(t, page.Words, "unauthenticated")
	browser.step(ctx, "dismissed", &page)
	wantWords(t, page.Words, "Sign in")
	browser.step(ctx, "refused", &page)
	wantWords(t, page.Words, "the cluster does not accept the bearer token")
	browser.step(ctx, "signed in", &page)
	wantNames(t, "the page shows", page.Names, podNames(ctx, t, namespace, ""))
	if page.Caller != caller.user() {
		t.Errorf("the page shows the caller %q, want %q", page.Caller, caller.user())
	}
	if len(page.Kept) > 0 {
		t.Errorf("the page has the token in %q", page.Kept)
	}
	var phone struct{ Overflow int }
	browser.step(ctx, "on a phone", &phone)
	if phone.Overflow > 0 {
		t.Errorf("horizontal overflow of %d pixels on a phone", phone.Overflow)
	}
	browser.step(ctx, "signed out", &page)
	if len(page.Names) > 0 || page.Caller != "" {
		t.Errorf("after the sign-out the page shows %q and the caller %q", page.Names, page.Caller)
	}
	browser.step(ctx, "asked again", &page)
	wantWords(t, page.Words, "unauthenticated")
	browser.ends(ctx)
}

func TestBrowser_ContinuesAfterItsTokenIsRenewed(t *testing.T) {
	t.Parallel()
	const life = 3 * credentialLife / 2 // a browser is slow to start
	ctx, service := deadlineAfter(t, patience+life), startForCallers(t)
	namespace := newNamespace(ctx, t, cluster(t))
	runDeployment(ctx, t, namespace, "web", 2, labels{})
	caller := newAccount(ctx, t, namespace, "reader")
	caller.grantIn(namespace, "reader", rule("pods", "list", "watch"))
	token := caller.token()
	expiring := caller.expiringToken(time.Now().Add(life))
	browser := startProgram(t, nodeProgram("browser", "signin-expired.mjs"),
		pageOf(service, namespace), expiring, token, "2", "4", artifacts(t))

	before := podNames(ctx, t, namespace, "")
	var page struct {
		Words string
		Names []string
	}
	browser.step(ctx, "live", &page)
	wantNames(t, "the page shows", page.Names, before)
	browser.step(ctx, "expired", &page)
	wantWords(t, page.Words, "the credential has expired")
	wantNames(t, "with an expired token the page shows", page.Names, before)
	scaleDeployment(ctx, t, namespace, "web", 4)
	browser.step(ctx, "live again", &page)
	wantNames(t, "with a new token the page shows", page.Names, podNames(ctx, t, namespace, ""))
	browser.ends(ctx)
}

func TestBrowser_ShowsThePermissionErrorUntilAGrant(t *testing.T) {
	t.Parallel()
	ctx, service := deadline(t), startForCallers(t)
	namespace := newNamespace(ctx, t, cluster(t))
	createUnscheduledPod(ctx, t, namespace, "one")
	caller := newAccount(ctx, t, namespace, "reader")
	browser := startProgram(t, nodeProgram("browser", "signin-forbidden.mjs"), service.Address+"/", caller.token(), "1", artifacts(t))

	var page struct {
		Words, Caller string
		Names         []string
		Refusal       bool
	}
	browser.step(ctx, "forbidden", &page)
	wantWords(t, page.Words, "pods is forbidden", caller.user(), "cannot list")
	if page.Caller != caller.user() {
		t.Errorf("the page shows the caller %q, want %q", page.Caller, caller.user())
	}
	caller.grantIn(namespace, "reader", rule("pods", "list", "watch"))
	browser.step(ctx, "live", &page)
	wantNames(t, "the page shows", page.Names, []string{"one"})
	if page.Refusal {
		t.Error("the page still shows the permission error")
	}
	browser.ends(ctx)
}
