package scenarios_test

import (
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

var (
	// longestName has the maximum length of a name, 253 characters.
	longestName = strings.Repeat("abc.", 63) + "z"
	// longestKey and longestValue have the maximum lengths of a label.
	longestKey   = longestName + "/" + strings.Repeat("K", 63)
	longestValue = strings.Repeat("V", 63)
)

func TestScenario21_LongestNamesAndLabelsAreReadAndWatched(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), namesAndLabelsAtTheirLimits)
}

func namesAndLabelsAtTheirLimits(t *testing.T, client kit.ResourceClient) {
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	created := write.Create(longestName, kit.Labels{longestKey: longestValue})

	kit.UntilRead(ctx, t, client, "configmaps", created)
	for name, request := range map[string]*kubeconnectv1.WatchRequest{
		"by name":  {Name: longestName},
		"by label": {LabelSelector: longestKey + "=" + longestValue},
		"by field": {FieldSelector: "metadata.name=" + longestName},
	} {
		t.Run(name, func(t *testing.T) {
			request.Resource, request.Namespace = "configmaps", namespace
			stream := record.Watch(t, client, request)
			stream.Synced(ctx)
			kit.WantSnapshot(t, stream, kit.Added(created))
		})
	}
}
