package queries_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// badSelection is a selection that both List and Watch must reject.
type badSelection struct {
	resource, namespace          string
	labelSelector, fieldSelector string
	encoding                     kubeconnectv1.Encoding
	code                         connect.Code
	words                        []string
}

var badSelections = map[string]badSelection{
	"no resource": {
		code: connect.CodeInvalidArgument, words: []string{"resource"},
	},
	"a resource that the cluster does not serve": {
		resource: "podz", code: connect.CodeNotFound, words: []string{`"podz"`, "pods"},
	},
	"a version that the resource does not have": {
		resource: "deployments.v9.apps", code: connect.CodeNotFound, words: []string{"deployments.v9.apps", "deployments"},
	},
	"a group that does not have the resource": {
		resource: "pods.apps", code: connect.CodeNotFound, words: []string{"pods.apps", "pods"},
	},
	"a resource that is not a name": {
		resource: "../../pods", code: connect.CodeNotFound, words: []string{"../../pods"},
	},
	"a namespace for a cluster-scoped resource": {
		resource: "nodes", namespace: "default", code: connect.CodeInvalidArgument, words: []string{"nodes", "namespace"},
	},
	"an invalid namespace": {
		resource: "pods", namespace: "No/Name", code: connect.CodeInvalidArgument, words: []string{"namespace", "No/Name"},
	},
	"an unterminated label selector": {
		resource: "pods", labelSelector: "app in (a,b", code: connect.CodeInvalidArgument, words: []string{"label_selector"},
	},
	"an invalid label": {
		resource: "pods", labelSelector: "a b=c", code: connect.CodeInvalidArgument, words: []string{"label_selector"},
	},
	"a field selector without an operator": {
		resource: "pods", fieldSelector: "nonsense", code: connect.CodeInvalidArgument, words: []string{"field_selector", "nonsense"},
	},
	"a field that the resource does not support in selectors": {
		resource: "pods", fieldSelector: "spec.hostname=x", code: connect.CodeInvalidArgument,
		words: []string{"field label not supported: spec.hostname"},
	},
	"a field that ConfigMaps do not support in selectors": {
		resource: "configmaps", fieldSelector: "data.key=x", code: connect.CodeInvalidArgument, words: []string{"data.key"},
	},
	"an unknown encoding": {
		resource: "pods", encoding: 99, code: connect.CodeInvalidArgument, words: []string{"encoding"},
	},
	"a request over the limit": {
		resource: "pods", labelSelector: strings.Repeat("x", kit.OverLimit), code: connect.CodeResourceExhausted,
	},
}

func TestSelection_ListAndWatchRejectInvalidOnes(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, bad := range badSelections {
		t.Run(name, func(t *testing.T) {
			t.Run("by List", func(t *testing.T) {
				_, err := client.List(ctx, &kubeconnectv1.ListRequest{
					Resource: bad.resource, Namespace: bad.namespace, LabelSelector: bad.labelSelector,
					FieldSelector: bad.fieldSelector, Encoding: bad.encoding,
				})
				kit.WantError(t, err, bad.code, bad.words...)
			})
			t.Run("by Watch", func(t *testing.T) {
				err := kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{
					Resource: bad.resource, Namespace: bad.namespace, LabelSelector: bad.labelSelector,
					FieldSelector: bad.fieldSelector, Encoding: bad.encoding,
				})
				kit.WantError(t, err, bad.code, bad.words...)
			})
		})
	}
}

func TestGet_InvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, test := range map[string]struct {
		request *kubeconnectv1.GetRequest
		code    connect.Code
		words   []string
	}{
		"no resource": {
			request: &kubeconnectv1.GetRequest{Namespace: "default", Name: "one"},
			code:    connect.CodeInvalidArgument, words: []string{"resource"},
		},
		"no name": {
			request: &kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default"},
			code:    connect.CodeInvalidArgument, words: []string{"name"},
		},
		"no namespace": {
			request: &kubeconnectv1.GetRequest{Resource: "pods", Name: "one"},
			code:    connect.CodeInvalidArgument, words: []string{"namespace"},
		},
		"a namespace for a cluster-scoped resource": {
			request: &kubeconnectv1.GetRequest{Resource: "nodes", Namespace: "default", Name: "one"},
			code:    connect.CodeInvalidArgument, words: []string{"namespace"},
		},
		"a resource that the cluster does not serve": {
			request: &kubeconnectv1.GetRequest{Resource: "deploymnts", Namespace: "default", Name: "one"},
			code:    connect.CodeNotFound, words: []string{"deploymnts", "deployments"},
		},
		"a missing object": {
			request: &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: "default", Name: "absent"},
			code:    connect.CodeNotFound, words: []string{`configmaps "absent" not found`},
		},
		"a missing namespace": {
			request: &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: "absent", Name: "one"},
			code:    connect.CodeNotFound, words: []string{`configmaps "one" not found`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Get(ctx, test.request)
			kit.WantError(t, err, test.code, test.words...)
		})
	}
}

func TestGet_MissingObjectIsDescribedByAStatus(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		_, err := client.Get(kit.Deadline(t), &kubeconnectv1.GetRequest{Resource: "deployments", Namespace: "default", Name: "absent"})
		kit.WantError(t, err, connect.CodeNotFound)
		status := kit.WantStatus(t, err, "NotFound")
		if status.GetName() != "absent" || status.GetGroup() != "apps" || status.GetKind() != "deployments" {
			t.Errorf("details of the status: %s %s of group %q", status.GetKind(), status.GetName(), status.GetGroup())
		}
		kit.WantWords(t, status.GetMessage(), "absent")
	})
}

func TestWatch_NameNeedsANamespace(t *testing.T) {
	t.Parallel()
	err := kit.WatchError(kit.Deadline(t), kit.NewClient(t, kit.Cluster(t)), &kubeconnectv1.WatchRequest{Resource: "pods", Name: "one"})
	kit.WantError(t, err, connect.CodeInvalidArgument, "namespace")
}

func TestWatch_MissingNamespaceGivesAnEmptySnapshot(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: "absent"})
	stream.Synced(ctx)
	kit.WantSnapshot(t, stream)
}
