package kit

import (
	"context"
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListTable returns a table that client-go reads at the API server.
func ListTable(ctx context.Context, t *testing.T, path string, options metav1.ListOptions) *metav1.Table {
	t.Helper()
	body, err := Cluster(t).Client.CoreV1().RESTClient().Get().AbsPath(path).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		VersionedParams(&options, metav1.ParameterCodec).DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		t.Fatal(err)
	}
	return table
}
