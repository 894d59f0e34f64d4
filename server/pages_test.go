package server

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
)

// aToken is a token with a value in each field.
func aToken(request *kubeconnectv1.ListRequest) pageToken {
	return pageToken{
		query: queryOf(request), served: "v1", namespaces: "a/b", objects: "hash", incomplete: true, left: 300,
		position: informerhub.Position{Version: "100", Epoch: 7, Issued: 8}, last: informerhub.ObjectName{Namespace: "a", Name: "x"},
	}
}

func TestPageToken_IsReadAsItWasWritten(t *testing.T) {
	request := &kubeconnectv1.ListRequest{Resource: "pods"}
	for name, token := range map[string]pageToken{
		"with everything": aToken(request),
		"with little":     {query: queryOf(request), position: informerhub.Position{Version: "1"}},
	} {
		request.PageToken = token.write()
		if read, err := readPageToken(request.GetPageToken(), queryOf(request)); err != nil || read != token {
			t.Errorf("%s: it is read as %v, %v", name, read, err)
		}
	}
}

func TestPageToken_ForgedOnesAreRejected(t *testing.T) {
	request := &kubeconnectv1.ListRequest{Resource: "pods"}
	token := aToken(request)
	decoded, err := base64.RawURLEncoding.DecodeString(token.write())
	if err != nil {
		t.Fatal(err)
	}
	forge := func(fields []byte) string {
		return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(fields, crc32.ChecksumIEEE(fields)))
	}
	whole := slices.Clone(decoded[:len(decoded)-checksumBytes])
	unpinned := token
	unpinned.objects, unpinned.position.Version = "", "x"
	for name, forged := range map[string]string{
		"no base64":                    "!" + token.write(),
		"nothing":                      "AAAA",
		"cut":                          token.write()[:40],
		"changed":                      strings.Replace(token.write(), token.write()[40:44], "____", 1),
		"cut, with a checksum":         forge(slices.Clone(whole[:30])),
		"longer":                       forge(append(slices.Clone(whole), 1)),
		"a number beyond 64 bits":      forge(append(slices.Clone(whole[:len(whole)-2]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)),
		"a text that is too long":      forge(append(slices.Clone(whole[:2+queryBytes]), 0xff, 0xff, 0xff, 0xff, 0x7f)),
		"a version that says nothing":  unpinned.write(),
		"a resume token":               tokens{selection: make([]byte, selectionBytes)}.Write(token.position),
		"another query":                aToken(&kubeconnectv1.ListRequest{Resource: "nodes"}).write(),
		"the same one after its start": "AA" + aToken(request).write(),
	} {
		request.PageToken = forged
		if _, err := readPageToken(request.GetPageToken(), queryOf(request)); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: returned %v", name, err)
		}
	}
}

// TestPages_ContainEveryObjectInOrder lists with several page sizes.
func TestPages_ContainEveryObjectInOrder(t *testing.T) {
	const n = 25
	for _, size := range []int32{0, 1, 7, 24, 25, 26, 1 << 30} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := &Lists{cache: newListCache(edge.NewMetrics())}
			params := parsedList(t, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: size, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF})
			list := s.firstOf(listResult{snapshot: objecttest.PodSnapshot(t, n)}, params)
			var got []string
			for {
				answer, err := s.page(t.Context(), list, params)
				if err != nil {
					t.Fatal(err)
				}
				for _, object := range answer.GetObjects() {
					got = append(got, object.GetName())
				}
				if left := n - len(got); answer.GetRemainingItemCount() != int64(left) || (answer.GetNextPageToken() == "") != (left == 0) {
					t.Fatalf("%d left, but it says %d, with the token %q", left, answer.GetRemainingItemCount(), answer.GetNextPageToken())
				}
				if answer.GetResourceVersion() != "100" {
					t.Errorf("a page at version %s", answer.GetResourceVersion())
				}
				if answer.GetNextPageToken() == "" {
					break
				}
				token, err := readPageToken(answer.GetNextPageToken(), params.query)
				if err != nil {
					t.Fatal(err)
				}
				list = &pagedList{listResult: list.listResult, complete: true, token: token}
			}
			for i, name := range got {
				if name != fmt.Sprintf("pod-%04d", i) {
					t.Fatalf("place %d is %s", i, name)
				}
			}
		})
	}
}

func TestQueryOf_ExcludesThePage(t *testing.T) {
	query := queryOf(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "a=b"})
	if again := queryOf(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "a=b", PageSize: 5, PageToken: "x"}); again != query {
		t.Error("the page is part of it")
	}
	for _, other := range []*kubeconnectv1.ListRequest{
		{Resource: "pods"}, {Resource: "nodes", LabelSelector: "a=b"}, {Resource: "pods", LabelSelector: "a=b", Namespace: "x"},
		{Resource: "pods", LabelSelector: "a=b", Encoding: kubeconnectv1.Encoding_ENCODING_JSON}, {Resource: "pods", FieldSelector: "a=b"},
	} {
		if queryOf(other) == query {
			t.Errorf("%v is treated as equal", other)
		}
	}
}

func TestPages_EndBeforeTheyAreTooLarge(t *testing.T) {
	large := func(name string, bytes int) *informerhub.Object {
		pod := objecttest.Pod(name, 1)
		pod.Annotations = map[string]string{"large": strings.Repeat("x", bytes)}
		return objecttest.PodObject(t, pod)
	}
	for name, test := range map[string]struct {
		sizes []int
		want  int
	}{
		"none":                           {nil, 0},
		"all that fit":                   {[]int{1 << 20, 1 << 20}, 2},
		"one less than would not fit":    {[]int{1 << 20, 1 << 20, 1 << 20, 1 << 20}, 2},
		"a large one":                    {[]int{encode.MaxObjectBytes - 4<<10, 1 << 20}, 1},
		"a large one waits for the next": {[]int{1 << 20, encode.MaxObjectBytes - 4<<10}, 1},
		"one that comes as an error":     {[]int{5 << 20, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []*informerhub.Object
			for i, size := range test.sizes {
				objects = append(objects, large(fmt.Sprint(i), size))
			}
			var response kubeconnectv1.ListResponse
			added := pageOf(t, &response, objects, encode.View{Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF, Messages: true})
			if added != test.want || len(response.GetObjects()) != test.want {
				t.Errorf("adds %d objects and says %d, want %d", len(response.GetObjects()), added, test.want)
			}
			if size := proto.Size(&response); size > 4<<20 && added > 1 {
				t.Errorf("%d bytes", size)
			}
		})
	}
}

// FuzzPageToken verifies that a token is rejected, or is the only encoding of its content.
func FuzzPageToken(f *testing.F) {
	request := &kubeconnectv1.ListRequest{Resource: "pods"}
	f.Add(aToken(request).write())
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := readPageToken(text, queryOf(&kubeconnectv1.ListRequest{Resource: "pods"}))
		switch {
		case err == nil && token.write() != text:
			t.Errorf("%v is encoded differently", token)
		case err != nil && !apierrors.IsBadRequest(err) && (!isOfNewerFormat(text) || !apierrors.IsResourceExpired(err)):
			t.Errorf("returned %v", err)
		}
	})
}

// pageOf calls addPage with a context that is not done.
func pageOf(t testing.TB, response *kubeconnectv1.ListResponse, objects []*informerhub.Object, view encode.View) int {
	t.Helper()
	added, err := addPage(t.Context(), response, objects, view, nil)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// parsedList returns the parameters of a request, for callers that need decoded messages.
func parsedList(t *testing.T, request *kubeconnectv1.ListRequest) listParams {
	t.Helper()
	params, err := parseList(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	params.view.Messages = true
	return params
}
