package bounds

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestValuesIn_CountsTheValuesOfAllLists(t *testing.T) {
	join := &kubeconnectv1.Join{Name: "j", Fields: []string{"a", "b"}, Filter: "k in [a,b,c]"}
	for name, test := range map[string]struct {
		request proto.Message
		want    int
	}{
		"nothing":   {&kubeconnectv1.WatchRequest{Resource: "pods"}, 0},
		"a text":    {&kubeconnectv1.WatchRequest{LabelSelector: "a,b,c"}, 2},
		"paths":     {&kubeconnectv1.WatchRequest{Fields: []string{"a", "b"}}, 2},
		"joins":     {&kubeconnectv1.WatchRequest{Joins: []*kubeconnectv1.Join{join, join}}, 2 + 2*(2+2)},
		"watches":   {&kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{{LabelSelector: "a,b"}, {Fields: []string{"a"}}}}, 2 + 1 + 1},
		"positions": {&kubeconnectv1.GetLogLinesRequest{ResumeAfter: positions(3)}, 3},
	} {
		if got := valuesIn(test.request.ProtoReflect()); got != test.want {
			t.Errorf("%s: %d values, want %d", name, got, test.want)
		}
	}
}

// TestRequestBytes_DoNotReadEachPosition verifies that a request with many positions is estimated without memory for each:
// the caller is not authorized yet.
func TestRequestBytes_DoNotReadEachPosition(t *testing.T) {
	request := &kubeconnectv1.GetLogLinesRequest{ResumeAfter: positions(1000)}
	if allocated := testing.AllocsPerRun(10, func() { ParsedRequestBytes(request) }); allocated > 100 {
		t.Errorf("%v allocations", allocated)
	}
}

func positions(count int) (all []*kubeconnectv1.LogPosition) {
	for range count {
		all = append(all, &kubeconnectv1.LogPosition{
			Namespace: "default", Pod: "p", Container: "c", Time: timestamppb.Now(), Sequence: 1,
		})
	}
	return all
}
