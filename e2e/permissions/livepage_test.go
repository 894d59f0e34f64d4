package permissions_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// pageOf requests a page of the marked ConfigMaps of all namespaces: all of the name b, then all of
// the name a.
func pageOf(d *kit.MarkedNamespaces, limit int32, offset int64) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{
		Resource: "configmaps", LabelSelector: "mark=" + d.Mark, OrderBy: "metadata.name desc", Limit: limit, Offset: offset,
	}
}

// hasPage reports whether a page has the objects of these keys, and this state.
func hasPage(view *record.PageView, total, offset int64, keys ...string) bool {
	return slices.Equal(kit.KeysOfAll(view.Objects), keys) && view.State.GetTotalCount() == total && view.State.GetOffset() == offset
}

// TestLivePage_ChangesWithThePermissions grants and revokes namespaces while pages are watched: the
// pages, their totals and their offsets change, without a RESET.
func TestLivePage_ChangesWithThePermissions(t *testing.T) {
	t.Parallel()
	d := kit.NewMarkedNamespaces(kit.Deadline(t), t, kit.NewServices(t, 1), 3, 2)
	clients := d.Clients(d.Reader)
	a, b, c := d.Namespaces[0], d.Namespaces[1], d.Namespaces[2]
	d.UntilCovers(clients, 0, a, b)
	first := record.WatchPage(t, clients[0], pageOf(d, 3, 0), validate.Page{})
	second := record.WatchPage(t, clients[0], pageOf(d, 3, 3), validate.Page{})
	after := pageOf(d, 3, 0)
	after.After = &kubeconnectv1.ObjectName{Namespace: b, Name: "b"}
	behind := record.WatchPage(t, clients[0], after, validate.Page{})
	until := func(description string, namespaces []string, total int64, pages [3][]string, offset [3]int64) {
		t.Helper()
		for i, stream := range []*record.PageStream{first, second, behind} {
			view := stream.Until(d.Ctx, fmt.Sprintf("page %d shows %s", i, description), func(view *record.PageView) bool { return hasPage(view, total, offset[i], pages[i]...) })
			if !slices.Equal(view.Namespaces, namespaces) {
				t.Errorf("%s: page %d covers %v, want %v", description, i, view.Namespaces, namespaces)
			}
		}
	}
	until("two namespaces", []string{a, b}, 4, [3][]string{{a + "/b", b + "/b", a + "/a"}, {b + "/a"}, {a + "/a", b + "/a"}}, [3]int64{0, 3, 2})
	d.Grant(c)
	until("a third namespace", []string{a, b, c}, 6, [3][]string{{a + "/b", b + "/b", c + "/b"}, {a + "/a", b + "/a", c + "/a"}, {c + "/b", a + "/a", b + "/a"}}, [3]int64{0, 3, 2})
	d.Revoke(a)
	until("the last two", []string{b, c}, 4, [3][]string{{b + "/b", c + "/b", b + "/a"}, {c + "/a"}, {c + "/b", b + "/a", c + "/a"}}, [3]int64{0, 3, 1})
	d.Revoke(b) // the object before a page is hidden: the page begins after its last place
	until("the last one", []string{c}, 2, [3][]string{{c + "/b", c + "/a"}, nil, {c + "/b", c + "/a"}}, [3]int64{0, 2, 0})
	d.Revoke(c)
	for _, stream := range []*record.PageStream{first, second, behind} {
		if err := stream.End(d.Ctx); connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("without a namespace the stream ended with: %v", err)
		}
	}
}

// TestLivePage_HidesOtherNamespaces changes objects of a namespace that the caller may not read: no
// page state is sent for them, and an object there is as unknown as one that does not exist.
func TestLivePage_HidesOtherNamespaces(t *testing.T) {
	t.Parallel()
	d := kit.NewMarkedNamespaces(kit.Deadline(t), t, kit.NewServices(t, 1), 3, 2)
	clients := d.Clients(d.Reader)
	a, b, hidden := d.Namespaces[0], d.Namespaces[1], d.Namespaces[2]
	d.UntilCovers(clients, 0, a, b)
	stream := record.WatchPage(t, clients[0], pageOf(d, 3, 1), validate.Page{})
	before := stream.Until(d.Ctx, "the page is complete", func(view *record.PageView) bool { return view.Synced && view.State.GetTotalCount() == 4 })
	write := kit.ConfigMapsIn(d.Ctx, t, kit.Cluster(t), hidden)
	for i := range 20 {
		write.Create(fmt.Sprint("b-", i), kit.Labels{"mark": d.Mark})
		write.Touch("b", fmt.Sprint(i))
	}
	write.Delete("a")
	kit.ConfigMapsIn(d.Ctx, t, kit.Cluster(t), b).Touch("a", "last")
	after := stream.Until(d.Ctx, "the last change is shown", func(view *record.PageView) bool { return view.States > before.States })
	if after.States != before.States+1 || !hasPage(&after, 4, 1, b+"/b", a+"/a", b+"/a") || after.Objects[2].GetResourceVersion() == before.Objects[2].GetResourceVersion() {
		t.Errorf("after changes of a hidden namespace and one other the page is %v, %v, with %d more states, want one", kit.KeysOfAll(after.Objects), after.State, after.States-before.States)
	}
	for _, decoded := range decodings(after.Token) {
		if strings.Contains(decoded, hidden) {
			t.Errorf("the token contains the name of a hidden namespace: %q", decoded)
		}
	}
}

// decodings returns a token, and what base64 makes of it.
func decodings(token string) []string {
	all := []string{token}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if decoded, err := encoding.DecodeString(token); err == nil {
			all = append(all, string(decoded))
		}
	}
	return all
}

// TestLivePage_HiddenObjectBeforeThePageIsNotFound compares the errors for an object before the page
// that is hidden, that does not exist, and that the selection does not match.
func TestLivePage_HiddenObjectBeforeThePageIsNotFound(t *testing.T) {
	t.Parallel()
	d := kit.NewMarkedNamespaces(kit.Deadline(t), t, kit.NewServices(t, 1), 3, 2)
	clients := d.Clients(d.Reader)
	a, b, hidden := d.Namespaces[0], d.Namespaces[1], d.Namespaces[2]
	d.UntilCovers(clients, 0, a, b)
	ask := func(namespace, name, within string) error {
		request := pageOf(d, 3, 0)
		request.Namespace, request.After = within, &kubeconnectv1.ObjectName{Namespace: namespace, Name: name}
		return kit.WatchError(d.Ctx, clients[0], request)
	}
	if err := ask(b, "a", ""); err != nil {
		t.Errorf("an object of the selection: %v", err)
	}
	var messages []string
	for _, key := range []validate.Key{{Namespace: a, Name: "none"}, {Namespace: hidden, Name: "none"}, {Namespace: hidden, Name: "a"}, {Namespace: "no-such-namespace", Name: "a"}, {Namespace: a, Name: "kube-root-ca.crt"}} {
		err := ask(key.Namespace, key.Name, "")
		kit.WantError(t, err, connect.CodeNotFound)
		text := strings.NewReplacer(key.Namespace+"/"+key.Name, "OBJECT", key.Namespace, "NAMESPACE", `"`+key.Name+`"`, "NAME").Replace(err.Error())
		messages = append(messages, fmt.Sprint(text, kit.StatusIn(err).GetReason()))
	}
	if messages = slices.Compact(messages); len(messages) != 1 {
		t.Errorf("the errors differ: %q", messages)
	}
	// An object of another namespace than that of the request cannot be in the selection.
	if err := ask(b, "a", a); connect.CodeOf(err) != connect.CodeNotFound && connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("an object of another namespace: %v", err)
	}
}

// TestLivePage_TokenOfAnotherCallerGrantsNoPermission resumes with the token of a caller with more
// permissions, also where the page begins after a hidden object.
func TestLivePage_TokenOfAnotherCallerGrantsNoPermission(t *testing.T) {
	t.Parallel()
	d := kit.NewMarkedNamespaces(kit.Deadline(t), t, kit.NewServices(t, 2), 3, 2)
	all := kit.NewAccount(d.Ctx, t, d.Namespaces[0], "all")
	kit.GrantEverywhere(t, all, kit.Rule("configmaps", "list", "watch"))
	clients, clientsOfAll := d.Clients(d.Reader), d.Clients(all)
	a, b, hidden := d.Namespaces[0], d.Namespaces[1], d.Namespaces[2]
	d.UntilCovers(clients, 0, a, b)
	d.UntilCovers(clientsOfAll, 0, a, b, hidden)
	request := pageOf(d, 4, 0)
	request.After = &kubeconnectv1.ObjectName{Namespace: hidden, Name: "b"}
	watched := record.WatchPage(t, clientsOfAll[0], request, validate.Page{})
	whole := watched.Until(d.Ctx, "the page is complete", func(view *record.PageView) bool { return view.Synced && view.Token != "" })
	if !hasPage(&whole, 6, 3, a+"/a", b+"/a", hidden+"/a") {
		t.Errorf("after %s/b: %v, %v", hidden, kit.KeysOfAll(whole.Objects), whole.State)
	}
	for name, client := range map[string]kit.ResourceClient{"the same replica": clients[0], "another replica": clients[1]} {
		request.ResumeToken = whole.Token
		resumed := record.WatchPage(t, client, request, whole.Page)
		resumed.Until(d.Ctx, name+" shows the allowed objects", func(view *record.PageView) bool { return hasPage(view, 4, 2, a+"/a", b+"/a") })
		resumed.Close()
	}
	request.RequireAllNamespaces = true
	kit.WantError(t, kit.WatchError(d.Ctx, clients[0], request), connect.CodePermissionDenied)
	nobody := kit.NewAccount(d.Ctx, t, a, "nobody")
	request.RequireAllNamespaces = false
	kit.WantError(t, kit.WatchError(d.Ctx, d.Clients(nobody)[0], request), connect.CodePermissionDenied)
}

// TestLivePage_ResumesWithoutALostNamespace resumes a page after the caller has lost the permission for
// a namespace: that of the object before the page, and that of objects in the page.
func TestLivePage_ResumesWithoutALostNamespace(t *testing.T) {
	t.Parallel()
	d := kit.NewMarkedNamespaces(kit.Deadline(t), t, kit.NewServices(t, 2), 3, 3)
	clients := d.Clients(d.Reader)
	a, b, c := d.Namespaces[0], d.Namespaces[1], d.Namespaces[2]
	d.UntilCovers(clients, 0, a, b, c)
	request := pageOf(d, 3, 0)
	request.After = &kubeconnectv1.ObjectName{Namespace: b, Name: "b"}
	watched := record.WatchPage(t, clients[0], request, validate.Page{})
	whole := watched.Until(d.Ctx, "the page is complete", func(view *record.PageView) bool {
		return view.Synced && hasPage(view, 6, 2, c+"/b", a+"/a", b+"/a")
	})
	watched.Close()
	d.Revoke(b)
	d.UntilCovers(clients, 0, a, c)
	for _, client := range clients {
		request.ResumeToken = whole.Token
		resumed := record.WatchPage(t, client, request, whole.Page)
		resumed.Until(d.Ctx, "the page begins at the place of the token", func(view *record.PageView) bool {
			return hasPage(view, 4, 1, c+"/b", a+"/a", c+"/a")
		})
		resumed.Close()
	}
}

// watchPage shows the first page of two objects, its total and its offset.
func (m *matrix) watchPage(clients harness.Clients, namespace, name string, after *kubeconnectv1.ObjectName) answer {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := responses.Of(clients.Resources.Watch(ctx, &kubeconnectv1.WatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: name, LabelSelector: m.label(), Limit: 2, OrderBy: "metadata.name desc", After: after,
		}))
		if err != nil {
			return "", err
		}
		defer stream.Close()
		var page validate.Page
		for page.State == nil && stream.Receive() {
			response := validate.ResponseOf(stream.Msg())
			page.Read(&response)
		}
		if page.State == nil {
			return "", stream.Err()
		}
		return fmt.Sprintf("%s of %d after %d", m.names(page.Objects...), page.State.GetTotalCount(), page.State.GetOffset()), nil
	}
}
