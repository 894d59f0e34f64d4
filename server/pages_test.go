package server

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/e2e/bubble"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

func TestTheTokenOfAPageLeadsToWhereItBegins(t *testing.T) {
	pages, list := newPages(Limits{}), &pagedList{query: "q", selected: selected{snapshot: podSnapshot(t, 300)}}
	for _, offset := range []int{1, 127, 128, 299} {
		found, at, err := pages.find(pages.keep(list, offset), "q")
		if err != nil || found != list || at != offset {
			t.Errorf("%d: leads to %p, %d, %v", offset, found, at, err)
		}
	}
}

func TestATokenThatIsNotOursIsABadRequest(t *testing.T) {
	pages, list := newPages(Limits{}), &pagedList{query: "q", selected: selected{snapshot: podSnapshot(t, 10)}}
	token := pages.keep(list, 5)
	decoded, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(offset ...byte) string {
		return base64.RawURLEncoding.EncodeToString(append([]byte(list.id), offset...))
	}
	for name, forged := range map[string]string{
		"no base64":                       "!" + token,
		"cut in the number":               base64.RawURLEncoding.EncodeToString(decoded[:8]),
		"cut before the offset":           base64.RawURLEncoding.EncodeToString(decoded[:idBytes]),
		"with more behind it":             forge(5, 5),
		"with an offset cut off":          forge(0x80),
		"with an offset behind the end":   forge(10),
		"with an offset beyond 64 bits":   forge(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"with the largest offset":         forge(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
		"with an offset below 0 as int64": forge(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := pages.find(forged, "q"); !apierrors.IsBadRequest(err) {
				t.Errorf("answers %v", err)
			}
		})
	}
	if _, _, err := pages.find(token, "another query"); !apierrors.IsBadRequest(err) {
		t.Errorf("with another query: answers %v", err)
	}
}

func TestATokenOfAnotherReplicaHasExpired(t *testing.T) {
	token := newPages(Limits{}).keep(&pagedList{query: "q", selected: selected{snapshot: podSnapshot(t, 2)}}, 1)
	if _, _, err := newPages(Limits{}).find(token, "q"); !apierrors.IsResourceExpired(err) {
		t.Errorf("answers %v", err)
	}
}

func TestAListCanBeContinuedForALifetimeAfterItsLastPage(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		pages, list := newPages(Limits{}), &pagedList{query: "q", selected: selected{snapshot: podSnapshot(t, 3)}}
		first := pages.keep(list, 1)
		time.Sleep(pageLifetime - time.Second)
		pages.keep(list, 2)
		time.Sleep(pageLifetime - time.Second)
		if _, _, err := pages.find(first, "q"); err != nil {
			t.Errorf("after a page within the lifetime: %v", err)
		}
		time.Sleep(2 * time.Second)
		if _, _, err := pages.find(first, "q"); !apierrors.IsResourceExpired(err) {
			t.Errorf("after the lifetime: %v", err)
		}
	})
}

func TestTheListThatWasNotUsedForLongestMakesRoom(t *testing.T) {
	pages := newPages(Limits{})
	tokens := make([]string, maxPagedLists+1)
	for i := range tokens {
		tokens[i] = pages.keep(&pagedList{query: "q", selected: selected{snapshot: podSnapshot(t, 2)}}, 1)
	}
	if _, _, err := pages.find(tokens[0], "q"); !apierrors.IsResourceExpired(err) {
		t.Errorf("the first: %v", err)
	}
	if _, _, err := pages.find(tokens[1], "q"); err != nil {
		t.Errorf("the second: %v", err)
	}
}

// TestThePagesOfAListAreTheList walks lists of several sizes of pages.
func TestThePagesOfAListAreTheList(t *testing.T) {
	const n = 25
	for _, size := range []int32{0, 1, 7, 24, 25, 26, 1 << 30} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := &resources{pages: newPages(Limits{})}
			request := &kubeconnectv1.ListRequest{Resource: "pods", PageSize: size, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF}
			list, offset := &pagedList{query: queryOf(request), selected: selected{snapshot: podSnapshot(t, n)}}, 0
			var got []string
			for {
				answer, err := s.page(t.Context(), list, offset, request, form{encoding: request.GetEncoding(), messages: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, object := range answer.GetObjects() {
					got = append(got, object.GetName())
				}
				if left := n - len(got); answer.GetRemaining() != int64(left) || (answer.GetNextPageToken() == "") != (left == 0) {
					t.Fatalf("%d left, but it says %d, with the token %q", left, answer.GetRemaining(), answer.GetNextPageToken())
				}
				if answer.GetResourceVersion() != "100" {
					t.Errorf("a page at version %s", answer.GetResourceVersion())
				}
				if answer.GetNextPageToken() == "" {
					break
				}
				request.PageToken = answer.GetNextPageToken()
				if list, offset, err = s.pages.find(request.GetPageToken(), queryOf(request)); err != nil {
					t.Fatal(err)
				}
			}
			for i, name := range got {
				if name != fmt.Sprintf("pod-%04d", i) {
					t.Fatalf("place %d is %s", i, name)
				}
			}
		})
	}
}

func TestAQueryIsAllOfARequestButThePage(t *testing.T) {
	query := queryOf(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "a=b"})
	if again := queryOf(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "a=b", PageSize: 5, PageToken: "x"}); again != query {
		t.Error("the page is part of it")
	}
	for _, other := range []*kubeconnectv1.ListRequest{
		{Resource: "pods"}, {Resource: "nodes", LabelSelector: "a=b"}, {Resource: "pods", LabelSelector: "a=b", Namespace: "x"},
		{Resource: "pods", LabelSelector: "a=b", Encoding: kubeconnectv1.Encoding_ENCODING_JSON}, {Resource: "pods", FieldSelector: "a=b"},
	} {
		if queryOf(other) == query {
			t.Errorf("%v is taken for the same", other)
		}
	}
}

func TestAPageEndsBeforeItIsTooLarge(t *testing.T) {
	large := func(name string, bytes int) *informerhub.Object {
		pod := newPod(name, 1)
		pod.Annotations = map[string]string{"large": strings.Repeat("x", bytes)}
		return podObject(t, pod)
	}
	for name, test := range map[string]struct {
		sizes []int
		want  int
	}{
		"none":                           {nil, 0},
		"all that fit":                   {[]int{1 << 20, 1 << 20}, 2},
		"one less than would not fit":    {[]int{1 << 20, 1 << 20, 1 << 20, 1 << 20}, 2},
		"a large one":                    {[]int{maxObjectBytes - 4<<10, 1 << 20}, 1},
		"a large one waits for the next": {[]int{1 << 20, maxObjectBytes - 4<<10}, 1},
		"one that comes as an error":     {[]int{5 << 20, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []*informerhub.Object
			for i, size := range test.sizes {
				objects = append(objects, large(fmt.Sprint(i), size))
			}
			var response kubeconnectv1.ListResponse
			added := pageOf(t, &response, objects, form{encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF, messages: true})
			if added != test.want || len(response.GetObjects()) != test.want {
				t.Errorf("adds %d objects and says %d, want %d", len(response.GetObjects()), added, test.want)
			}
			if size := proto.Size(&response); size > 4<<20 && added > 1 {
				t.Errorf("%d bytes", size)
			}
		})
	}
}

// FuzzPageToken holds that no token that was not given out leads anywhere else than
// to the list of its number, within its bounds.
func FuzzPageToken(f *testing.F) {
	pages, list := newPages(Limits{}), &pagedList{query: "q", selected: selected{snapshot: podSnapshot(f, 10)}}
	f.Add(pages.keep(list, 1))
	f.Add(pages.keep(list, 9))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		found, offset, err := pages.find(token, "q")
		switch {
		case err == nil && (found != list || offset < 0 || offset >= 10):
			t.Errorf("leads to %p at %d", found, offset)
		case err != nil && !apierrors.IsBadRequest(err) && !apierrors.IsResourceExpired(err):
			t.Errorf("answers %v", err)
		}
	})
}

// pageOf is addPage for a caller who stays.
func pageOf(t testing.TB, response *kubeconnectv1.ListResponse, objects []*informerhub.Object, as form) int {
	t.Helper()
	added, err := addPage(t.Context(), response, objects, as)
	if err != nil {
		t.Fatal(err)
	}
	return added
}
