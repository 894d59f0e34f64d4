package permissions_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// TestPermissions_NoDeniedByteIsSent reads all bytes that are sent to a restricted caller, over
// each protocol. Another caller, which has permission, makes the same calls, to show that the
// searched words would be found.
func TestPermissions_NoDeniedByteIsSent(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t, "--log-level", "debug")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			closed := newClosed(ctx, t)
			caller := closed.newReader("caller")
			closed.wantNothingDelivered(ctx, t, service, protocol, caller)
			closed.wantNothingInAnswers(ctx, t, service, protocol, caller)
			closed.wantLossDelivered(ctx, t, service, protocol, closed.newReader("for-a-while"))
			closed.wantNothingLogged(t, service)
		})
	}
}

// closed is a namespace that the caller has no permission to read, with an object whose words occur
// nowhere else; and an open one that it can read.
type closed struct {
	ctx             context.Context
	t               *testing.T
	open, namespace string
	name            string
	words           []string // words of the content
	tokens          []string // tokens of all callers
}

// calling returns clients that authenticate as an account, and the wire that records the bytes they
// receive.
func (c *closed) calling(service *harness.Service, protocol harness.Protocol, caller kit.Account) (harness.Clients, *wire) {
	c.t.Helper()
	token := caller.Token()
	c.tokens = append(c.tokens, token)
	return callingOver(c.t, service, protocol, token)
}

func newClosed(ctx context.Context, t *testing.T) *closed {
	t.Helper()
	c := &closed{ctx: ctx, t: t, open: kit.NewNamespace(ctx, t, kit.Cluster(t)), namespace: kit.NewNamespace(ctx, t, kit.Cluster(t)), name: wordOfItsOwn("name")}
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), c.open).Create("mine", nil)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), c.open).Create("more", nil)
	c.write(c.name)
	return c
}

// wordOfItsOwn returns a word that occurs nowhere else.
func wordOfItsOwn(kindOfWord string) string {
	return fmt.Sprintf("closed-%s-%x", kindOfWord, rand.Uint64())
}

// write creates an object with words that occur nowhere else.
func (c *closed) write(name string) {
	c.t.Helper()
	label, value, data := wordOfItsOwn("label"), wordOfItsOwn("value"), wordOfItsOwn("data")
	write := kit.ConfigMapsIn(c.ctx, c.t, kit.Cluster(c.t), c.namespace)
	created := write.Create(name, kit.Labels{label: value})
	write.Touch(name, data)
	c.words = append(c.words, label, value, data, string(created.UID))
}

// newReader returns an account with permission to read and patch in the open namespace.
func (c *closed) newReader(name string) kit.Account {
	c.t.Helper()
	caller := kit.NewAccount(c.ctx, c.t, c.open, name)
	caller.GrantIn(c.open, name, kit.Rule("configmaps", "get", "list", "watch", "patch"))
	return caller
}

// wantNothingDelivered makes every read of the caller that does not name the closed namespace: no
// response may contain its words.
func (c *closed) wantNothingDelivered(ctx context.Context, t *testing.T, service *harness.Service, protocol harness.Protocol, caller kit.Account) {
	t.Helper()
	other := c.newReader("other")
	other.GrantIn(c.namespace, "other", kit.Rule("configmaps", "get", "list", "watch"))
	clients, sent := c.calling(service, protocol, caller)
	both, sentBoth := c.calling(service, protocol, other)
	kit.Eventually(ctx, t, "both have their permissions", func() error {
		if err := kit.ListsNamespaces(ctx, clients.Resources, c.open); err != nil {
			return err
		}
		return kit.ListsNamespaces(ctx, both.Resources, c.open, c.namespace)
	})
	everything := &kubeconnectv1.WatchRequest{Resource: "configmaps"}
	stream, ofOther := record.Watch(t, clients.Resources, everything), record.Watch(t, both.Resources, everything)
	point := kit.LastPoint(t, stream.Synced(ctx))
	ofOther.Synced(ctx)

	deleted := wordOfItsOwn("deleted")
	c.write(deleted)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), c.namespace).Delete(deleted)
	later := wordOfItsOwn("later")
	c.write(later)
	version := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), c.open).Touch("mine", "touched").ResourceVersion
	stream.Reaches(ctx, version)
	ofOther.Reaches(ctx, version)
	record.Resume(t, clients.Resources, everything, point).Reaches(ctx, version)

	for _, clients := range []harness.Clients{clients, both} {
		c.readEverything(ctx, t, clients, version)
	}
	mustNot := append(slices.Clone(c.words), c.namespace, c.name, deleted, later)
	if found := sent.mentions(mustNot); len(found) > 0 {
		t.Errorf("the caller receives %q", found)
	}
	if found := sentBoth.mentions(mustNot); len(found) != len(mustNot) {
		t.Errorf("of %q, only %q is found in the bytes sent to a caller with permission", mustNot, found)
	}
}

// readEverything makes every read, and ignores the caller's errors.
func (c *closed) readEverything(ctx context.Context, t *testing.T, clients harness.Clients, version string) {
	t.Helper()
	for _, selects := range []*kubeconnectv1.ListRequest{{}, {PageSize: 1}, {LabelSelector: "!nowhere"}, {FieldSelector: "metadata.name!=mine"}, {MinResourceVersion: version}} {
		selects.Resource = "configmaps"
		for _, encoding := range []kubeconnectv1.Encoding{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.Encoding_ENCODING_PROTOBUF, kubeconnectv1.Encoding_ENCODING_STRUCT} {
			selects.Encoding, selects.PageToken = encoding, ""
			kit.ListAll(ctx, t, clients.Resources, selects)
		}
	}
	if _, err := clients.Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := clients.Access.CheckAccess(ctx, &kubeconnectv1.CheckAccessRequest{Checks: []*kubeconnectv1.AccessCheck{
		{Verb: "list", Resource: "configmaps"}, {Verb: "list", Resource: "secrets"}, {Verb: "get", Resource: "nodes"},
	}}); err != nil {
		t.Error(err)
	}
	kit.ListTypes(ctx, t, clients.Discovery, "")
	if _, err := clients.Discovery.GetSchema(ctx, &kubeconnectv1.GetSchemaRequest{Resource: "configmaps"}); err != nil {
		t.Error(err)
	}
	for _, resource := range []string{"secrets", "nodes", "namespaces", "pods", "nowhere"} {
		_, _ = clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: resource})
		_, _ = clients.Resources.Get(ctx, &kubeconnectv1.GetRequest{Resource: resource, Namespace: c.open, Name: "mine"})
		_ = kit.WatchError(ctx, clients.Resources, &kubeconnectv1.WatchRequest{Resource: resource, MinResourceVersion: "wrong"})
	}
}

// wantNothingInAnswers requests objects without permission by their names: the errors must be those
// for missing names, and must not contain the content.
func (c *closed) wantNothingInAnswers(ctx context.Context, t *testing.T, service *harness.Service, protocol harness.Protocol, caller kit.Account) {
	t.Helper()
	clients, sent := c.calling(service, protocol, caller)
	existing := c.askFor(ctx, clients, c.namespace, c.name)
	for description, names := range map[string][2]string{
		"a missing object":    {c.namespace, wordOfItsOwn("other")},
		"a missing namespace": {wordOfItsOwn("space"), c.name},
	} {
		for call, got := range c.askFor(ctx, clients, names[0], names[1]) {
			named := strings.NewReplacer(names[0], c.namespace, names[1], c.name).Replace(got)
			if named != existing[call] {
				t.Errorf("%s of %s returns %q, of an existing one %q", call, description, named, existing[call])
			}
		}
	}
	if found := sent.mentions(c.words); len(found) > 0 {
		t.Errorf("errors for a caller without permission contain %q", found)
	}
}

// askFor makes each call for an object, and returns the errors.
func (c *closed) askFor(ctx context.Context, clients harness.Clients, namespace, name string) map[string]string {
	c.t.Helper()
	refused := map[string]string{}
	resources := clients.Resources
	for call, err := range map[string]error{
		"Get":           kit.ErrorOf(resources.Get, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: name})(ctx),
		"List":          kit.ErrorOf(resources.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})(ctx),
		"List of one":   kit.ErrorOf(resources.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, FieldSelector: "metadata.name=" + name})(ctx),
		"List labelled": kit.ErrorOf(resources.List, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: c.words[0]})(ctx),
		"Watch":         kit.WatchError(ctx, resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}),
		"Watch of one":  kit.WatchError(ctx, resources, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Name: name}),
		"Patch": kit.ErrorOf(resources.Patch, kit.WithData(&kubeconnectv1.PatchRequest{
			Resource: "configmaps", Namespace: namespace, Name: name, Type: kit.MergePatch,
		}, `{"data":{"key":"changed"}}`))(ctx),
	} {
		if connect.CodeOf(err) != connect.CodePermissionDenied {
			c.t.Errorf("%s: %v", call, err)
		}
		refused[call] = fmt.Sprint(err)
	}
	return refused
}

// wantLossDelivered revokes the permission to read a namespace while the caller watches: nothing
// that is written there afterwards may be sent.
func (c *closed) wantLossDelivered(ctx context.Context, t *testing.T, service *harness.Service, protocol harness.Protocol, caller kit.Account) {
	t.Helper()
	kit.Grant(ctx, t, c.namespace, "for-a-while", caller.Subject(), kit.Rule("configmaps", "get", "list", "watch"))
	clients, sent := c.calling(service, protocol, caller)
	kit.Eventually(ctx, t, "the caller has the permission", func() error { return kit.ListsNamespaces(ctx, clients.Resources, c.open, c.namespace) })
	var lost time.Time
	stream := record.Watch(t, clients.Resources, &kubeconnectv1.WatchRequest{Resource: "configmaps"})
	stream.JudgeBy(func() validate.Evidence {
		return validate.Evidence{Rights: validate.Rights{{Namespace: c.open}, {Namespace: c.namespace, Until: lost}}, Recheck: kit.UnnoticedPermissions}
	})
	stream.Until(ctx, "both namespaces are delivered", kit.HoldsOf(c.namespace))
	page, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	kit.Revoke(ctx, t, c.namespace, "for-a-while")
	lost = time.Now()
	stream.Until(ctx, "the namespace is deleted from the stream", func(view *record.View) bool { return !kit.HoldsOf(c.namespace)(view) })

	shown := len(c.words)
	afterwards := wordOfItsOwn("afterwards")
	c.write(afterwards)
	stream.Reaches(ctx, kit.ConfigMapsIn(ctx, t, kit.Cluster(t), c.open).Touch("mine", "again").ResourceVersion)
	_, err = clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", PageSize: 1, PageToken: page.GetNextPageToken()})
	if err == nil {
		t.Error("a page token is valid after its permissions were revoked")
	}
	if err := kit.ListsNamespaces(ctx, clients.Resources, c.open); err != nil {
		t.Error(err)
	}
	if found := sent.mentions(append(slices.Clone(c.words[shown:]), afterwards)); len(found) > 0 {
		t.Errorf("after the revocation the caller receives %q", found)
	}
}

// wantNothingLogged searches the service's log for tokens and contents of objects.
func (c *closed) wantNothingLogged(t *testing.T, service *harness.Service) {
	t.Helper()
	log := service.Output()
	for _, secret := range append(c.tokens, c.words...) {
		if strings.Contains(log, secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
}
