package faults_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// "A token of another selection, or one that was cut or changed, is INVALID_ARGUMENT."
func TestChecked_InvalidResumeTokensAreRejected(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	s := kit.NewPodSet(ctx, t, 3)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	request := &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web"}
	token := kit.LastPoint(t, record.Watch(t, clients[0], request).Synced(ctx)).Token
	page, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, request *kubeconnectv1.WatchRequest) {
		t.Helper()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := responses.Of(clients[1].Watch(ctx, request))
		if err == nil && stream.Receive() {
			t.Errorf("%s: the stream says %v", what, shortResponse(stream.Msg()))
			return
		}
		if err == nil {
			err = stream.Err()
		}
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	with := func(token string, change func(*kubeconnectv1.WatchRequest)) *kubeconnectv1.WatchRequest {
		request := proto.CloneOf(request)
		request.ResumeToken = token
		change(request)
		return request
	}
	same := func(*kubeconnectv1.WatchRequest) {}
	refused("the token of a list", with(page.GetNextPageToken(), same))
	for i := range token {
		if i == 0 {
			continue // the number of the format: another one can be of a later version
		}
		refused(fmt.Sprintf("the first %d characters of %q", i, token), with(token[:i], same))
		for _, bit := range []byte{1, 2} {
			changed := token[:i] + string(rune(token[i]^bit)) + token[i+1:]
			refused(fmt.Sprintf("%q for %q", changed, token), with(changed, same))
		}
	}
	for name, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"labels":     func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "app=db" },
		"no labels":  func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "" },
		"namespace":  func(r *kubeconnectv1.WatchRequest) { r.Namespace = "default" },
		"everywhere": func(r *kubeconnectv1.WatchRequest) { r.Namespace = "" },
		"resource":   func(r *kubeconnectv1.WatchRequest) { r.Resource = "configmaps" },
		"filter":     func(r *kubeconnectv1.WatchRequest) { r.Filter = "true" },
		"name":       func(r *kubeconnectv1.WatchRequest) { r.Name = "p-01" },
		"related": func(r *kubeconnectv1.WatchRequest) {
			r.Related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: s.Namespace, Name: "owner"}
		},
	} {
		refused("another "+name, with(token, change))
	}
}

// A token of a caller who saw some namespaces, in the hands of one who sees others: what each may not
// see is not sent, and what each holds in the end is what it may see.
func TestChecked_ResumeTokenOfAnotherCallerGrantsNoPermission(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	services := kit.NewServices(t, 2)
	d := kit.NewMarkedNamespaces(ctx, t, services, 3, 2)
	all := kit.NewAccount(ctx, t, d.Namespaces[0], "all")
	kit.GrantEverywhere(t, all, kit.Rule("configmaps", "list", "watch"))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", LabelSelector: "mark=" + d.Mark}
	clients := map[string][]kit.ResourceClient{"reader": d.Clients(d.Reader), "all": d.Clients(all)}
	d.UntilCovers(clients["reader"], 0, d.Namespaces[:2]...)
	d.UntilCovers(clients["all"], 0, d.Namespaces...)
	want := map[string][]string{"reader": kit.KeysIn(d.Namespaces[:2]...), "all": kit.KeysIn(d.Namespaces...)}
	for of, other := range map[string]string{"reader": "all", "all": "reader"} {
		point := kit.LastPoint(t, record.Watch(t, clients[of][0], request).Synced(ctx))
		view := record.ResumeElsewhere(t, clients[other][1], request, point).Until(ctx, "it holds what it may see", func(view *record.View) bool {
			var keys []string
			for key := range view.Model.Objects {
				keys = append(keys, key.String())
			}
			slices.Sort(keys)
			return slices.Equal(keys, want[other]) && view.Model.Synced
		})
		t.Logf("%s with the token of %s: %v", other, of, record.Lines(view.Events[len(point.Events):]))
	}
}
