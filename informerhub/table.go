package informerhub

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// asTable requests a table, as kubectl does.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// Table returns objects as the API server prints them, with their metadata, and the API server's
// warnings. It returns one object if a name is given, and otherwise those that match the options.
func (l *Live) Table(
	ctx context.Context, namespace, name string, options metav1.ListOptions,
) (*metav1.Table, []string, error) {
	request := l.client.Get().
		NamespaceIfScoped(namespace, namespace != "").
		Resource(l.resource.Name).
		SetHeader("Accept", asTable).
		Param("includeObject", string(metav1.IncludeMetadata))
	if name != "" {
		request = request.Name(name)
	} else {
		request = request.SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
	}
	result := request.MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, nil, discovery.AsUnavailable(ctx, l.client, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, nil, err
	}
	table, err := l.readTable(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	var warnings []string
	for _, warning := range result.Warnings() {
		warnings = append(warnings, warning.Text)
	}
	return table, warnings, nil
}

// readTable reads a table, which may have the metadata of hundreds of objects, in a processor slot.
func (l *Live) readTable(ctx context.Context, body []byte) (*metav1.Table, error) {
	_, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil || table.Kind != "Table" {
		return nil, fmt.Errorf("%s: the API server's response is not a table (%v)", l.resource, err)
	}
	return table, nil
}
