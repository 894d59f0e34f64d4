package console_test

import (
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestSignIn_ShowsWhatTheTokenMayReadAndKeepsTheTokenSecret(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RunDeployment(ctx, t, namespace, "web", 3, kit.Labels{})
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	caller.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	browser := startConsole(t, "signin.mjs", service.Address, namespace, caller.Token(), "3", artifacts(t))

	var page struct {
		Words, Caller, Address string
		Names, Kept            []string
		Tables, Overflow       int
	}
	browser.Step(ctx, "asked", &page)
	kit.WantWords(t, page.Words, "Sign in", "Bearer token")
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
	if browser.Step(ctx, "small", &page); page.Overflow > 0 {
		t.Errorf("horizontal overflow of %d pixels on a small screen", page.Overflow)
	}
	if browser.Step(ctx, "signed out", &page); page.Tables > 0 {
		t.Error("after the sign-out the page shows a table")
	}
	browser.Step(ctx, "asked again", &page)
	kit.WantWords(t, page.Address, "/r/pods?ns="+namespace)
	browser.Ends(ctx)
}

func TestSignIn_ContinuesAfterTheTokenHasExpired(t *testing.T) {
	t.Parallel()
	const life = 3 * kit.CredentialLife / 2 // a browser is slow to start
	ctx, service := kit.DeadlineAfter(t, kit.WaitTimeout+life), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	kit.RunDeployment(ctx, t, namespace, "web", 2, kit.Labels{})
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	caller.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	token, expiring := caller.Token(), caller.ExpiringToken(time.Now().Add(life))
	browser := startConsole(t, "signin-expired.mjs", service.Address, namespace, expiring, token, "2", "4", artifacts(t))

	var page struct {
		Words, Address string
		Names          []string
	}
	browser.Step(ctx, "live", &page)
	before, address := kit.PodNames(ctx, t, namespace, ""), page.Address
	kit.WantNames(t, "the page shows", page.Names, before)
	browser.Step(ctx, "expired", &page)
	kit.WantWords(t, page.Words, "has expired", caller.User())
	kit.WantNames(t, "with an expired token the page shows", page.Names, before)
	kit.ScaleDeployment(ctx, t, namespace, "web", 4)
	browser.Step(ctx, "live again", &page)
	kit.WantNames(t, "with a new token the page shows", page.Names, kit.PodNames(ctx, t, namespace, ""))
	if page.Address != address {
		t.Errorf("the address has changed from %s to %s", address, page.Address)
	}
	browser.Ends(ctx)
}

// TestSignIn_AnotherUserSeesNothingOfTheFormer signs in as another user after the token has expired.
func TestSignIn_AnotherUserSeesNothingOfTheFormer(t *testing.T) {
	t.Parallel()
	const life = 3 * kit.CredentialLife / 2 // a browser is slow to start
	ctx, service := kit.DeadlineAfter(t, kit.WaitTimeout+life), kit.StartForCallers(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	createPod(ctx, t, namespace, "one", nil)
	former, other := kit.NewAccount(ctx, t, namespace, "former"), kit.NewAccount(ctx, t, namespace, "other")
	for role, caller := range map[string]kit.Account{"former": former, "other": other} {
		caller.GrantIn(namespace, role, kit.Rule("pods", "list", "watch", "delete"))
	}
	token, expiring := other.Token(), former.ExpiringToken(time.Now().Add(life))
	browser := startConsole(t, "signin-other.mjs", service.Address, namespace, expiring, token, "one")

	var page struct {
		User string
		Rows int
	}
	browser.Step(ctx, "selected", &page)
	if page.User != former.User() || page.Rows != 1 {
		t.Fatalf("%s has selected %d rows, want 1", page.User, page.Rows)
	}
	browser.Step(ctx, "another user", &page)
	if page.User != other.User() || page.Rows != 0 {
		t.Errorf("%d rows are selected for %s, want 0 for %s", page.Rows, page.User, other.User())
	}
	browser.Ends(ctx)
}

func TestSignIn_ShowsThePermissionErrorUntilAGrant(t *testing.T) {
	t.Parallel()
	ctx, service := kit.Deadline(t), kit.StartForCallers(t)
	namespace, other := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewNamespace(ctx, t, kit.Cluster(t))
	createPod(ctx, t, namespace, "one", nil)
	createPod(ctx, t, other, "of-others", nil)
	caller := kit.NewAccount(ctx, t, namespace, "reader")
	browser := startConsole(t, "forbidden.mjs", service.Address, caller.Token(), namespace, "one")

	var page struct {
		Words, Caller string
		Alerts        int
	}
	browser.Step(ctx, "forbidden", &page)
	kit.WantWords(t, page.Words, "pods is forbidden", caller.User(), "cannot list")
	if page.Caller != caller.User() {
		t.Errorf("the page shows the caller %q, want %q", page.Caller, caller.User())
	}
	caller.GrantIn(namespace, "reader", kit.Rule("pods", "list", "watch"))
	if browser.Step(ctx, "granted", &page); page.Alerts > 0 {
		t.Error("the page still shows the permission error")
	}
	browser.Step(ctx, "all namespaces", &page)
	kit.WantWords(t, page.Words, namespace)
	browser.Ends(ctx)
}
