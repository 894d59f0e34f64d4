package queries_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// wantTable fails the test unless a table is that of the API server.
func wantTable(t *testing.T, got *kubeconnectv1.GetTableResponse, want *metav1.Table) {
	t.Helper()
	var columns []metav1.TableColumnDefinition
	for _, column := range got.GetColumns() {
		columns = append(columns, metav1.TableColumnDefinition{
			Name: column.GetName(), Type: column.GetType(), Format: column.GetFormat(), Description: column.GetDescription(), Priority: column.GetPriority(),
		})
	}
	if !reflect.DeepEqual(columns, want.ColumnDefinitions) {
		t.Errorf("columns %v\nwant %v", columns, want.ColumnDefinitions)
	}
	if len(got.GetRows()) != len(want.Rows) || len(want.Rows) == 0 {
		t.Fatalf("%d rows, want %d", len(got.GetRows()), len(want.Rows))
	}
	for i, row := range got.GetRows() {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(want.Rows[i].Object.Raw, &object); err != nil {
			t.Fatal(err)
		}
		if row.GetNamespace() != object.Namespace || row.GetName() != object.Name || row.GetUid() != string(object.UID) || row.GetResourceVersion() != object.ResourceVersion {
			t.Errorf("object of row %d: %v, want %v", i, row, object)
		}
		var cells []any
		for _, cell := range row.GetCells() {
			cells = append(cells, cell.AsInterface())
		}
		if !reflect.DeepEqual(cells, want.Rows[i].Cells) {
			t.Errorf("row %d: %v, want %v", i, cells, want.Rows[i].Cells)
		}
	}
}

func TestTable_MatchesTheAPIServersTable(t *testing.T) {
	t.Parallel()
	kit.OverEachProtocol(t, kit.Cluster(t), func(t *testing.T, client kit.ResourceClient) {
		ctx := kit.Deadline(t)
		namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
		for i := range 5 {
			pod := kit.UnscheduledPod(fmt.Sprint("pod-", i))
			pod.Labels = kit.Labels{"even": fmt.Sprint(i%2 == 0)}
			if _, err := kit.Cluster(t).Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		path := "/api/v1/namespaces/" + namespace + "/pods"
		for name, test := range map[string]struct {
			request *kubeconnectv1.GetTableRequest
			path    string
			options metav1.ListOptions
		}{
			"all":           {&kubeconnectv1.GetTableRequest{}, path, metav1.ListOptions{}},
			"by labels":     {&kubeconnectv1.GetTableRequest{LabelSelector: "even=true"}, path, metav1.ListOptions{LabelSelector: "even=true"}},
			"by fields":     {&kubeconnectv1.GetTableRequest{FieldSelector: "metadata.name=pod-1"}, path, metav1.ListOptions{FieldSelector: "metadata.name=pod-1"}},
			"one":           {&kubeconnectv1.GetTableRequest{Name: "pod-3"}, path + "/pod-3", metav1.ListOptions{}},
			"without space": {&kubeconnectv1.GetTableRequest{Resource: "namespaces", Name: "default"}, "/api/v1/namespaces/default", metav1.ListOptions{}},
		} {
			t.Run(name, func(t *testing.T) {
				if test.request.Resource == "" {
					test.request.Resource, test.request.Namespace = "po", namespace
				}
				got, err := client.GetTable(ctx, test.request)
				if err != nil {
					t.Fatal(err)
				}
				wantTable(t, got, withoutAges(kit.ListTable(ctx, t, test.path, test.options), got))
			})
		}
	})
}

// withoutAges copies the ages, which change with time, from another table.
func withoutAges(table *metav1.Table, other *kubeconnectv1.GetTableResponse) *metav1.Table {
	for i, column := range table.ColumnDefinitions {
		for j := range table.Rows {
			if column.Name == "Age" && j < len(other.GetRows()) {
				table.Rows[j].Cells[i] = other.GetRows()[j].GetCells()[i].AsInterface()
			}
		}
	}
	return table
}

func TestTable_PagesHaveEveryRow(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	for i := range 7 {
		write.Create(fmt.Sprint("one-", i), kit.Labels{"paged": "true"})
	}
	request := &kubeconnectv1.GetTableRequest{Resource: "configmaps", Namespace: namespace, LabelSelector: "paged=true", PageSize: 3}
	var names []string
	for {
		page, err := client.GetTable(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.GetRows() {
			names = append(names, row.GetName())
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
	}
	if fmt.Sprint(names) != "[one-0 one-1 one-2 one-3 one-4 one-5 one-6]" {
		t.Errorf("rows %v", names)
	}
}

func TestTable_HasCustomResourcesAndWarnings(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.Define("v1")
	gadgets.Create("v1", namespace, "one", map[string]any{"color": "red"})
	kit.UntilListed(ctx, t, client, gadgets)
	table, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: gadgets.Name(), Namespace: namespace})
	if err != nil || len(table.GetRows()) != 1 || table.GetRows()[0].GetCells()[0].GetStringValue() != "one" || table.GetResource().GetKind() != "Gadget" {
		t.Errorf("table %v (%v)", table, err)
	}
	table, err = client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "componentstatuses"})
	if err != nil {
		t.Fatal(err)
	}
	kit.WantWords(t, fmt.Sprint(table.GetWarnings()), "ComponentStatus is deprecated")
}

func TestTable_InvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	for name, test := range map[string]struct {
		request *kubeconnectv1.GetTableRequest
		code    connect.Code
		words   []string
	}{
		"no resource":                               {&kubeconnectv1.GetTableRequest{}, connect.CodeInvalidArgument, []string{"resource"}},
		"a negative page size":                      {&kubeconnectv1.GetTableRequest{Resource: "pods", PageSize: -1}, connect.CodeInvalidArgument, []string{"page_size"}},
		"an invalid token":                          {&kubeconnectv1.GetTableRequest{Resource: "pods", PageToken: "x"}, connect.CodeInvalidArgument, []string{"page_token"}},
		"an unterminated selector":                  {&kubeconnectv1.GetTableRequest{Resource: "pods", LabelSelector: "a in ("}, connect.CodeInvalidArgument, []string{"unable to parse requirement"}},
		"a name and a selector":                     {&kubeconnectv1.GetTableRequest{Resource: "namespaces", Name: "default", LabelSelector: "a"}, connect.CodeInvalidArgument, []string{"label_selector"}},
		"a name without a namespace":                {&kubeconnectv1.GetTableRequest{Resource: "pods", Name: "one"}, connect.CodeInvalidArgument, []string{"namespace"}},
		"a namespace for a cluster-scoped resource": {&kubeconnectv1.GetTableRequest{Resource: "nodes", Namespace: "default"}, connect.CodeInvalidArgument, []string{"no namespaces"}},
		"an invalid namespace":                      {&kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: "a/b"}, connect.CodeInvalidArgument, []string{"a/b"}},
		"a missing object":                          {&kubeconnectv1.GetTableRequest{Resource: "pods", Namespace: "default", Name: "none"}, connect.CodeNotFound, []string{`pods "none" not found`}},
		"a resource without list":                   {&kubeconnectv1.GetTableRequest{Resource: "tokenreviews"}, connect.CodeUnimplemented, []string{"list is not supported"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.GetTable(ctx, test.request)
			kit.WantError(t, err, test.code, test.words...)
		})
	}
}

// TestTable_AllNamespacesNeedPermissionForAll differs from a list, which covers the namespaces with
// permission.
func TestTable_AllNamespacesNeedPermissionForAll(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	caller := kit.NewAccount(ctx, t, namespace, "some")
	caller.GrantIn(namespace, "reads", kit.Rule("secrets", "list"))
	createSecret(ctx, t, namespace, "one", nil)
	client := caller.Calling(kit.StartForCallers(t), harness.Connect).Resources
	kit.Eventually(ctx, t, "the permissions are effective", func() error {
		_, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "secrets", Namespace: namespace})
		return err
	})
	_, err := client.GetTable(ctx, &kubeconnectv1.GetTableRequest{Resource: "secrets"})
	kit.WantError(t, err, connect.CodePermissionDenied, "cannot list resource \"secrets\" in API group \"\" at the cluster scope")
}
