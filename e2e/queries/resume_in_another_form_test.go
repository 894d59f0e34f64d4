package queries_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestResumeToken_IsValidInAnotherForm resumes streams of whole objects and of patches with requests
// that select the same objects.
func TestResumeToken_IsValidInAnotherForm(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	whole := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Fields: []string{"metadata.name", "data"}}
	patches := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, Fields: []string{"metadata.name", "data"}, PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE}
	for name, test := range map[string]struct {
		from   *kubeconnectv1.WatchRequest
		change func(*kubeconnectv1.WatchRequest)
		reset  bool // whether the stream must begin with a snapshot
	}{
		"unchanged":                    {from: whole, change: func(*kubeconnectv1.WatchRequest) {}},
		"in another encoding":          {from: whole, change: func(r *kubeconnectv1.WatchRequest) { r.Encoding = kit.EncodingJSON }},
		"with a short name":            {from: whole, change: func(r *kubeconnectv1.WatchRequest) { r.Resource = "cm" }},
		"with other notation of paths": {from: whole, change: func(r *kubeconnectv1.WatchRequest) { r.Fields = []string{"{.data}", "$.metadata.name"} }},
		"with all namespaces required": {from: whole, change: func(r *kubeconnectv1.WatchRequest) { r.RequireAllNamespaces = true }},
		"with a version":               {from: whole, change: func(r *kubeconnectv1.WatchRequest) { r.MinResourceVersion = "1" }},
		"in patches, from objects":     {from: whole, change: func(r *kubeconnectv1.WatchRequest) { r.PatchFormat = patches.GetPatchFormat() }, reset: true},
		"in patches":                   {from: patches, change: func(*kubeconnectv1.WatchRequest) {}},
		"in objects, from patches":     {from: patches, change: func(r *kubeconnectv1.WatchRequest) { r.PatchFormat = 0 }},
		"in patches in another encoding": {
			from: patches, change: func(r *kubeconnectv1.WatchRequest) { r.Encoding = kit.EncodingJSON }, reset: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stream := record.Watch(t, client, test.from)
			request := proto.CloneOf(test.from)
			request.ResumeToken = kit.LastPoint(t, stream.Synced(ctx)).Token
			test.change(request)
			first, err := kit.FirstOf(ctx, client, request)
			if err != nil {
				t.Fatal(err)
			}
			if reset := first.GetEvents()[0].GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET; reset != test.reset {
				t.Errorf("the stream begins with %v", first.GetEvents()[0])
			}
		})
	}
}
