package queries_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// pageForm is a form in which a client requests the objects of a page.
type pageForm struct {
	encoding kubeconnectv1.Encoding
	patches  kubeconnectv1.PatchFormat
}

var pageForms = []pageForm{
	{kubeconnectv1.Encoding_ENCODING_STRUCT, kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED},
	{kubeconnectv1.Encoding_ENCODING_STRUCT, kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON},
	{kubeconnectv1.Encoding_ENCODING_JSON, kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE},
	{kubeconnectv1.Encoding_ENCODING_PROTOBUF, kubeconnectv1.PatchFormat_PATCH_FORMAT_UNSPECIFIED},
}

// TestLivePage_ResumesInAnotherForm resumes a page in each form from each other form, and changes an
// object: the client can apply what it receives, with or without a RESET.
func TestLivePage_ResumesInAnotherForm(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps, clients := newRankedMaps(ctx, t), kit.NewReplicas(t, kit.Cluster(t), 2)
	for _, name := range []string{"a", "b", "c"} {
		maps.Patch(name, map[string]any{"data": map[string]any{"large": strings.Repeat("x", 2_000)}})
	}
	for i, from := range pageForms {
		for k, to := range pageForms {
			changes := fmt.Sprintf("%d-%d", i, k)
			page, token := readPage(ctx, t, clients[0], from.of(maps.page(2, 0)), validate.Page{}, func(page *validate.Page) bool { return page.Synced })
			request := to.of(maps.page(2, 1))
			request.ResumeToken = token
			version := ""
			resumed, _ := readPage(ctx, t, clients[1], request, page, func(page *validate.Page) bool {
				if version == "" && slices.Equal(kit.NamesOf(page.Objects), []string{"b", "c"}) {
					version = maps.Touch("b", changes).ResourceVersion
				}
				return version != "" && page.Objects[0].GetResourceVersion() == version
			})
			if to.encoding == kubeconnectv1.Encoding_ENCODING_PROTOBUF {
				continue
			}
			if content := resumed.Objects[0].GetStruct().String() + string(resumed.Objects[0].GetJson()); !strings.Contains(content, changes) {
				t.Errorf("from %v to %v: the changed object is %s", from, to, content)
			}
		}
	}
}

func (f pageForm) of(request *kubeconnectv1.WatchRequest) *kubeconnectv1.WatchRequest {
	request.Encoding, request.PatchFormat = f.encoding, f.patches
	return request
}

// readPage reads a page until the condition holds after a state. It returns the page and its token.
func readPage(ctx context.Context, t *testing.T, client record.Client, request *kubeconnectv1.WatchRequest, page validate.Page, holds func(*validate.Page) bool) (validate.Page, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.Watch(ctx, request))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for stream.Receive() {
		response := validate.ResponseOf(stream.Msg())
		if problems := page.Read(&response); len(problems) > 0 {
			t.Fatalf("%s, patches %s: %q", request.GetEncoding(), request.GetPatchFormat(), problems)
		}
		if response.Page != nil && holds(&page) {
			return page.Clone(), response.Token
		}
	}
	t.Fatalf("%s, patches %s: %v", request.GetEncoding(), request.GetPatchFormat(), stream.Err())
	return page, ""
}

func TestLivePage_OfAnEmptySelectionAndOfAName(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	maps, client := newRankedMaps(ctx, t), kit.NewClient(t, kit.Cluster(t))
	empty := maps.page(3, 0)
	empty.LabelSelector = "rank=7"
	ofName := maps.page(3, 0)
	ofName.Name = "f"
	beyond := maps.page(3, 5)
	streams := map[*record.PageStream]int64{
		record.WatchPage(t, client, empty, validate.Page{}): 0, record.WatchPage(t, client, ofName, validate.Page{}): 0, record.WatchPage(t, client, beyond, validate.Page{}): 5,
	}
	for stream, total := range streams {
		untilPage(ctx, stream, "the page is empty", total, total)
	}
	maps.rank("f", 7)
	for stream, total := range streams {
		untilPage(ctx, stream, "the page has an object", total+1, total, "f")
	}
	maps.Delete("f")
	for stream, total := range streams {
		untilPage(ctx, stream, "the page is empty again", total, total)
	}
}
