package reads

import (
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

// maxTableRows bounds the rows of a page of a table.
const maxTableRows = 500

// Tables has the handler of GetTable. Its methods are safe for concurrent use.
//
// A table is always read at the API server, as the caller, because only the API server knows how it prints a resource.
type Tables struct {
	// Set once.
	hub      *informerhub.Hub
	targets  *target.Resolver
	upstream *Upstream
}

// GetTable implements kubeconnect.v1.ResourceService. The API server checks the caller's
// permission.
func (t *Tables) GetTable(ctx context.Context, request *kubeconnectv1.GetTableRequest) (*kubeconnectv1.GetTableResponse, error) {
	params, err := parseTable(request)
	if err != nil {
		return nil, err
	}
	return target.OnResource(ctx, t.targets, request.GetResource(), func(resource informerhub.Resource) (*kubeconnectv1.GetTableResponse, error) {
		return t.table(ctx, resource, params)
	})
}

// tableParams are the parsed fields of a request for a table.
type tableParams struct {
	namespace string
	name      string // empty for a list
	options   metav1.ListOptions
}

// parseTable parses a request. The API server parses the selectors and the page token.
func parseTable(request *kubeconnectv1.GetTableRequest) (tableParams, error) {
	switch {
	case request.GetPageSize() < 0:
		return tableParams{}, apierror.BadRequest("invalid page_size %d: give 0 or more", request.GetPageSize())
	case request.GetName() != "" && (request.GetLabelSelector() != "" || request.GetFieldSelector() != "" || request.GetPageToken() != ""):
		return tableParams{}, apierror.BadRequest("label_selector, field_selector and page_token cannot be combined with name: leave them out")
	}
	return tableParams{
		namespace: request.GetNamespace(),
		name:      request.GetName(),
		options: metav1.ListOptions{
			LabelSelector: request.GetLabelSelector(),
			FieldSelector: request.GetFieldSelector(),
			Limit:         rowsOfPage(request.GetPageSize()),
			Continue:      request.GetPageToken(),
		},
	}, nil
}

// check rejects a table that does not match the scope of its resource.
func (p tableParams) check(resource informerhub.Resource) error {
	switch {
	case p.name != "":
		return target.CheckName(resource, p.namespace, p.name)
	case resource.Namespaced || p.namespace == "":
		return target.CheckSegment("namespace", p.namespace)
	}
	return target.CheckNamespace(resource, p.namespace)
}

// table reads a page of a table, or the row of one object, and encodes it. The memory for the response is reserved when the table has
// been read: until then ReservingClient has reserved what was received.
func (t *Tables) table(ctx context.Context, resource informerhub.Resource, params tableParams) (*kubeconnectv1.GetTableResponse, error) {
	if err := params.check(resource); err != nil {
		return nil, err
	}
	verb, read := "list", access.ToList(resource, params.namespace, params.options.FieldSelector)
	read.Selection = call.Selection{Labels: params.options.LabelSelector, Fields: params.options.FieldSelector}
	if params.name != "" {
		verb, read = "get", access.ToGet(resource, params.namespace, params.name)
	}
	read.NoteForwarded(ctx)
	reader, err := t.upstream.reader(ctx, resource, verb)
	if err != nil {
		return nil, err
	}
	table, warnings, err := reader.Table(ctx, params.namespace, params.name, params.options)
	if err != nil {
		return nil, asPageToken(budget.UpstreamError(ctx, err), params.options.Continue)
	}
	call.NoteCounted(ctx, len(table.Rows))
	if err := budget.ReserveResponse(ctx, tableMemory(table)); err != nil {
		return nil, err
	}
	response, err := encodeTableInSlot(ctx, table)
	if err != nil {
		return nil, err
	}
	if err := t.confirm(ctx, resource, response); err != nil {
		return nil, err
	}
	response.Resource, response.Warnings = encode.Kind(resource), warnings
	return response, checkTableSize(response)
}

// confirm confirms the resource of a table, which may have been recreated with another scope. Rows do not
// contain the kind: they match if they have a namespace exactly when the resource is namespaced.
// Otherwise discovery is refreshed.
func (t *Tables) confirm(ctx context.Context, resource informerhub.Resource, table *kubeconnectv1.GetTableResponse) error {
	if rows := table.GetRows(); len(rows) > 0 && (rows[0].GetNamespace() != "") != resource.Namespaced && !resource.BuiltIn() {
		if err := t.hub.Resolver().Refresh(ctx); err != nil {
			return nil // no newer discovery is available
		}
	}
	return t.targets.CheckExists(ctx, resource)
}

// asPageToken replaces the error for a token that the API server cannot parse by an error that
// names page_token.
func asPageToken(err error, pageToken string) error {
	if pageToken != "" && apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "continue token") {
		return apierror.BadRequest("page_token is not one of a table: start again from the first page")
	}
	return err
}

// checkTableSize rejects a page that gRPC clients would not accept. A single row is never rejected, because no smaller page exists.
func checkTableSize(page *kubeconnectv1.GetTableResponse) error {
	rows, size := len(page.GetRows()), proto.Size(page)
	if rows < 2 || size <= encode.MaxPageBytes {
		return nil
	}
	return apierror.Failure(metav1.StatusReasonRequestEntityTooLarge,
		"the page is too large: %d rows take %d bytes; give a smaller page_size", rows, size)
}

// rowsOfPage returns the number of rows that the API server is asked for; 0 asks for maxTableRows.
func rowsOfPage(pageSize int32) int64 {
	if pageSize > 0 && pageSize < maxTableRows {
		return int64(pageSize)
	}
	return maxTableRows
}

// cellBytes and rowHeadBytes estimate the memory of a cell and of the rest of a row: the message
// and its encoding.
const cellBytes, rowHeadBytes = 512, 1024

// tableMemory estimates the memory that the response needs in addition to the table. The strings
// are shared, and the bytes that were read are already reserved; see upstreamBody.
func tableMemory(table *metav1.Table) int {
	return len(table.Rows) * (rowHeadBytes + cellBytes*len(table.ColumnDefinitions))
}

// encodeTableInSlot encodes a table like encodeTable. It takes a processor slot if the table is
// large.
func encodeTableInSlot(ctx context.Context, table *metav1.Table) (*kubeconnectv1.GetTableResponse, error) {
	size := tableMemory(table)
	for _, row := range table.Rows {
		size += len(row.Object.Raw)
	}
	return budget.InSlotIf(ctx, size > budget.ShortBytes, func(ctx context.Context) (*kubeconnectv1.GetTableResponse, error) { return encodeTable(ctx, table) })
}

// encodeTable returns a table as a response, without its resource. The token of the next page is the API server's own.
func encodeTable(ctx context.Context, table *metav1.Table) (*kubeconnectv1.GetTableResponse, error) {
	encoded := &kubeconnectv1.GetTableResponse{ResourceVersion: table.ResourceVersion, NextPageToken: table.Continue}
	if table.RemainingItemCount != nil {
		encoded.RemainingItemCount = *table.RemainingItemCount
	}
	for _, column := range table.ColumnDefinitions {
		encoded.Columns = append(encoded.Columns, &kubeconnectv1.TableColumn{
			Name: column.Name, Type: column.Type, Format: column.Format, Description: column.Description, Priority: column.Priority,
		})
	}
	for i, row := range table.Rows {
		if err := budget.YieldEvery(ctx, i); err != nil {
			return nil, err
		}
		one, err := encodeRow(row)
		if err != nil {
			return nil, err
		}
		encoded.Rows = append(encoded.Rows, one)
	}
	return encoded, nil
}

// encodeRow returns a row with the name of its object. A row of a table that is not about objects has no name.
func encodeRow(row metav1.TableRow) (*kubeconnectv1.TableRow, error) {
	var metadata metav1.PartialObjectMetadata
	if len(row.Object.Raw) > 0 {
		if err := json.Unmarshal(row.Object.Raw, &metadata); err != nil {
			return nil, err
		}
	}
	encoded := &kubeconnectv1.TableRow{Namespace: metadata.Namespace, Name: metadata.Name, Uid: string(metadata.UID), ResourceVersion: metadata.ResourceVersion}
	for _, cell := range row.Cells {
		value, err := structpb.NewValue(cell)
		if err != nil {
			return nil, err
		}
		encoded.Cells = append(encoded.Cells, value)
	}
	return encoded, nil
}
