package queries_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// rankedMaps are ConfigMaps of one namespace, each with a label by which pages are sorted.
type rankedMaps struct {
	kit.ConfigMaps
	namespace string
}

// newRankedMaps creates the ConfigMaps a to e, with the ranks 1 to 5.
func newRankedMaps(ctx context.Context, t *testing.T) rankedMaps {
	t.Helper()
	m := rankedMaps{namespace: kit.NewNamespace(ctx, t, kit.Cluster(t))}
	m.ConfigMaps = kit.ConfigMapsIn(ctx, t, kit.Cluster(t), m.namespace)
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		m.rank(name, i+1)
	}
	return m
}

// rank creates an object with a rank.
func (m rankedMaps) rank(name string, rank int) string {
	m.T.Helper()
	return m.Create(name, kit.Labels{"rank": fmt.Sprint(rank)}).ResourceVersion
}

// move changes the rank of an object.
func (m rankedMaps) move(name string, rank int) {
	m.T.Helper()
	m.Relabel(name, map[string]any{"rank": fmt.Sprint(rank)})
}

func (m rankedMaps) page(limit int32, offset int64) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: m.namespace, LabelSelector: "rank", OrderBy: "metadata.labels.rank", Limit: limit, Offset: offset}
}

func (m rankedMaps) pageAfter(limit int32, name string) *kubeconnectv1.WatchRequest {
	request := m.page(limit, 0)
	request.After = &kubeconnectv1.ObjectName{Namespace: m.namespace, Name: name}
	return request
}

// untilPage blocks until a page has exactly these objects and numbers.
func untilPage(ctx context.Context, stream *record.PageStream, description string, total, offset int64, names ...string) record.PageView {
	return stream.Until(ctx, description, func(view *record.PageView) bool {
		return view.Synced && slices.Equal(kit.NamesOf(view.Objects), names) && view.State.GetTotalCount() == total && view.State.GetOffset() == offset
	})
}

func TestLivePage_FollowsTheObjectBeforeIt(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps, clients := newRankedMaps(ctx, t), kit.NewReplicas(t, kit.Cluster(t), 2)
	stream := record.WatchPage(t, clients[0], maps.pageAfter(2, "b"), validate.Page{})
	untilPage(ctx, stream, "the page begins after b", 5, 2, "c", "d")
	maps.move("b", 3) // before c, because of its name
	untilPage(ctx, stream, "b has the rank of c", 5, 2, "c", "d")
	maps.move("b", 4)
	untilPage(ctx, stream, "b has moved after c", 5, 3, "d", "e")
	maps.rank("f", 0)
	untilPage(ctx, stream, "an object comes before b", 6, 4, "d", "e")
	maps.Delete("b")
	untilPage(ctx, stream, "b is deleted", 5, 3, "d", "e")
	maps.move("a", 4) // before the last place of b
	maps.Touch("e", "changed")
	untilPage(ctx, stream, "a has moved to the place before b", 5, 3, "d", "e")
	maps.move("a", 5)
	last := untilPage(ctx, stream, "a has moved after the place of b", 5, 2, "d", "a")
	stream.Close()

	for i, client := range clients {
		request := maps.pageAfter(2, "b")
		kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodeNotFound, "b")
		request.ResumeToken = last.Token
		resumed := record.WatchPage(t, client, request, last.Page)
		untilPage(ctx, resumed, fmt.Sprintf("replica %d has the place of the token", i), 5, 2, "d", "a")
		resumed.Close()
	}
	maps.rank("b", 1)
	request := maps.pageAfter(2, "b")
	request.ResumeToken = last.Token
	resumed := record.WatchPage(t, clients[1], request, last.Page)
	untilPage(ctx, resumed, "b exists again, in another place", 6, 2, "c", "d")
}

// TestLivePage_ScrollsWithATokenOfAnyAge scrolls after changes that the service has lost from its
// window, at another replica.
func TestLivePage_ScrollsWithATokenOfAnyAge(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps, clients := newRankedMaps(ctx, t), kit.NewReplicas(t, kit.Cluster(t), 2)
	stream := record.WatchPage(t, clients[0], maps.page(3, 1), validate.Page{})
	first := untilPage(ctx, stream, "the page is complete", 5, 1, "b", "c", "d")
	stream.Close()
	maps.Delete("c")
	maps.rank("c", 2)
	maps.move("d", 1)
	kit.ExceedWindow(ctx, t, clients[0], maps.ConfigMaps)
	kit.UntilRead(ctx, t, clients[1], "configmaps", maps.Touch("e", "changed"))
	for i, client := range clients {
		for _, scroll := range []struct {
			request *kubeconnectv1.WatchRequest
			offset  int64
			want    []string
		}{
			{maps.page(3, 1), 1, []string{"d", "b", "c"}},
			{maps.page(5, 0), 0, []string{"a", "d", "b", "c", "e"}},
			{maps.page(1, 4), 4, []string{"e"}},
			{maps.page(2, 5), 5, nil},
			{maps.pageAfter(2, "c"), 4, []string{"e"}},
		} {
			scroll.request.ResumeToken = first.Token
			resumed := record.WatchPage(t, client, scroll.request, first.Page)
			untilPage(ctx, resumed, fmt.Sprintf("replica %d scrolls to %d", i, scroll.offset), 5, scroll.offset, scroll.want...)
			resumed.Close()
		}
	}
}

func TestLivePage_IsSentInSeveralResponses(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps, client := newRankedMaps(ctx, t), kit.NewClient(t, kit.Cluster(t))
	for _, name := range []string{"a", "b", "c", "d"} {
		maps.Patch(name, map[string]any{"data": map[string]any{"large": strings.Repeat("x", 600_000)}})
	}
	responses, err := responses.Of(client.Watch(ctx, maps.page(3, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer responses.Close()
	var page validate.Page
	parts := 0
	for page.State == nil && responses.Receive() {
		message := responses.Msg()
		if message.GetPage() == nil && message.GetResumeToken() != "" {
			t.Errorf("response %d of the page has a token and no state", parts)
		}
		response := validate.ResponseOf(message)
		if problems := page.Read(&response); len(problems) > 0 {
			t.Errorf("response %d: %q", parts, problems)
		}
		parts++
	}
	if parts < 2 || !page.Synced || !slices.Equal(kit.NamesOf(page.Objects), []string{"a", "b", "c"}) || page.State.GetTotalCount() != 5 {
		t.Errorf("%d responses lead to %q, %v", parts, kit.NamesOf(page.Objects), page.State)
	}
}

func TestLivePage_InvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps := newRankedMaps(ctx, t)
	client := kit.NewReplicas(t, kit.Cluster(t), 1)[0]
	stream := record.WatchPage(t, client, maps.page(3, 1), validate.Page{})
	token := untilPage(ctx, stream, "the page is complete", 5, 1, "b", "c", "d").Token
	plain := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: maps.namespace, LabelSelector: "rank"})
	plain.Synced(ctx)
	tokenOfAll := kit.LastPoint(t, plain.Now()).Token
	for name, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"a negative limit":          func(r *kubeconnectv1.WatchRequest) { r.Limit = -1 },
		"a limit that is too large": func(r *kubeconnectv1.WatchRequest) { r.Limit = 501 },
		"a negative offset":         func(r *kubeconnectv1.WatchRequest) { r.Offset = -1 },
		"an order without limit":    func(r *kubeconnectv1.WatchRequest) { r.Limit, r.Offset = 0, 0 },
		"an offset without limit":   func(r *kubeconnectv1.WatchRequest) { r.Limit, r.OrderBy = 0, "" },
		"an object without limit": func(r *kubeconnectv1.WatchRequest) {
			proto.Reset(r)
			proto.Merge(r, maps.pageAfter(0, "b"))
			r.OrderBy = ""
		},
		"an object without name": func(r *kubeconnectv1.WatchRequest) { proto.Reset(r); proto.Merge(r, maps.pageAfter(2, "")) },
		"an object and an offset": func(r *kubeconnectv1.WatchRequest) {
			r.After = &kubeconnectv1.ObjectName{Namespace: maps.namespace, Name: "b"}
		},
		"an invalid order":            func(r *kubeconnectv1.WatchRequest) { r.OrderBy = "metadata.labels[*]" },
		"too many keys":               func(r *kubeconnectv1.WatchRequest) { r.OrderBy = strings.Repeat("a,", 8) + "a" },
		"a token of a plain watch":    func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = tokenOfAll },
		"a token of a page for all":   func(r *kubeconnectv1.WatchRequest) { r.ResumeToken, r.Limit, r.Offset, r.OrderBy = token, 0, 0, "" },
		"a token of another label":    func(r *kubeconnectv1.WatchRequest) { r.ResumeToken, r.LabelSelector = token, "rank=1" },
		"a token of another view":     func(r *kubeconnectv1.WatchRequest) { r.ResumeToken, r.Fields = token, []string{"metadata.name"} },
		"a token of all namespaces":   func(r *kubeconnectv1.WatchRequest) { r.ResumeToken, r.Namespace = token, "" },
		"a token of another resource": func(r *kubeconnectv1.WatchRequest) { r.ResumeToken, r.Resource = token, "services" },
	} {
		t.Run(name, func(t *testing.T) {
			request := maps.page(3, 1)
			change(request)
			kit.WantError(t, kit.WatchError(ctx, client, request), connect.CodeInvalidArgument)
		})
	}
	t.Run("a modified token", func(t *testing.T) {
		request := maps.page(3, 1)
		for i := 2; i < len(token); i++ { // the first two letters have the format, and a newer one means RESET
			other := byte('A')
			if token[i] == other {
				other = 'Q'
			}
			for _, changed := range []string{token[:i] + string(other) + token[i+1:], token[:i]} {
				if request.ResumeToken = changed; changed == "" {
					continue
				}
				if err := kit.WatchError(ctx, client, request); connect.CodeOf(err) != connect.CodeInvalidArgument {
					t.Fatalf("a token changed or truncated at %d of %d: %v", i, len(token), err)
				}
			}
		}
	})
}

// TestLivePage_OfWatchManyResumes watches two pages on one stream, and scrolls both with its token.
func TestLivePage_OfWatchManyResumes(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps, clients := newRankedMaps(ctx, t), kit.NewReplicas(t, kit.Cluster(t), 2)
	asked := []*kubeconnectv1.WatchRequest{maps.page(2, 0), maps.page(2, 3), kit.InNamespace("configmaps", maps.namespace)}
	pages, token := make([]validate.Page, 2), ""
	read := func(client kit.ResourceClient, want ...[]string) {
		t.Helper()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		responses, err := responses.Of(client.WatchMany(ctx, &kubeconnectv1.WatchManyRequest{Watches: harness.WatchSpecs(asked...), ResumeToken: token}))
		if err != nil {
			t.Fatal(err)
		}
		defer responses.Close()
		for !slices.Equal(kit.NamesOf(pages[0].Objects), want[0]) || !slices.Equal(kit.NamesOf(pages[1].Objects), want[1]) {
			if !responses.Receive() {
				t.Fatalf("pages %q and %q: %v", kit.NamesOf(pages[0].Objects), kit.NamesOf(pages[1].Objects), responses.Err())
			}
			index := responses.Msg().GetWatchIndex()
			if token = responses.Msg().GetResumeToken(); index > 1 {
				continue
			}
			response := validate.ResponseOf(responses.Msg().GetResponse())
			if problems := pages[index].Read(&response); len(problems) > 0 {
				t.Errorf("page %d: %q", index, problems)
			}
		}
	}
	read(clients[0], []string{"a", "b"}, []string{"d", "e"})
	maps.move("e", 0)
	read(clients[1], []string{"e", "a"}, []string{"c", "d"})
	asked[0].Offset, asked[1].Limit = 1, 1
	read(clients[0], []string{"a", "b"}, []string{"c"})
}
