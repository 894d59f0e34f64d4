package reads

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// TestPages_ContainEveryObjectInOrder lists with several page sizes.
func TestPages_ContainEveryObjectInOrder(t *testing.T) {
	const n = 25
	for _, size := range []int32{0, 1, 7, 24, 25, 26, 1 << 30} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := &Lists{cache: newListCache(observe.NewMetrics())}
			params := parsedList(t, &kubeconnectv1.ListRequest{Resource: "pods", PageSize: size, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF})
			list := s.firstOf(Result{Snapshot: objecttest.PodSnapshot(t, n)}, params)
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
				token, err := tokens.ReadPage(answer.GetNextPageToken(), params.query)
				if err != nil {
					t.Fatal(err)
				}
				list = &pagedList{Result: list.Result, complete: true, token: token}
			}
			for i, name := range got {
				if name != fmt.Sprintf("pod-%04d", i) {
					t.Fatalf("place %d is %s", i, name)
				}
			}
		})
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
