package server

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// maxPageBytes is the size at which a page ends. gRPC clients refuse messages over
// 4 MiB.
const maxPageBytes = 3 << 20

// List implements kubeconnect.v1.ResourceService.
func (s *resources) List(ctx context.Context, request *kubeconnectv1.ListRequest) (*kubeconnectv1.ListResponse, error) {
	if err := checkReading(request); err != nil {
		return nil, err
	}
	if request.GetPageSize() < 0 {
		return nil, badRequest("page_size %d: give 0 or more", request.GetPageSize())
	}
	fields, err := fieldsOf(request)
	if err != nil {
		return nil, err
	}
	list, offset, err := s.snapshotFor(ctx, request)
	if err != nil {
		return nil, err
	}
	return s.page(list, offset, request, form{request.GetEncoding(), fields}, wantsMessages(ctx)), nil
}

// snapshotFor answers the snapshot that a page is taken from, and where in it the
// page begins: a new one for a first page, the same one for those that follow.
func (s *resources) snapshotFor(ctx context.Context, request *kubeconnectv1.ListRequest) (*pagedList, int, error) {
	query := queryOf(request)
	if request.GetPageToken() != "" {
		return s.continued(ctx, request, query)
	}
	order, err := orderOf(request.GetOrderBy())
	if err != nil {
		return nil, 0, err
	}
	found, err := s.selectFor(ctx, request)
	if err != nil {
		return nil, 0, err
	}
	if found.snapshot.Objects, err = order.sort(ctx, found.snapshot.Objects); err != nil {
		return nil, 0, err
	}
	return &pagedList{selected: found, query: query, caller: identityFrom(ctx).UserKey()}, 0, nil
}

// continued answers a list that was kept for this caller, who may still read all of it.
func (s *resources) continued(ctx context.Context, request *kubeconnectv1.ListRequest, query string) (*pagedList, int, error) {
	list, offset, err := s.pages.find(request.GetPageToken(), query)
	if err != nil {
		return nil, 0, err
	}
	identity := identityFrom(ctx)
	if list.caller != identity.UserKey() {
		return nil, 0, errPageExpired
	}
	wanted := list.wanted
	wanted.whole = request.GetRequireAllNamespaces()
	scope, err := s.rights.scope(ctx, identity, wanted)
	switch {
	case err != nil:
		return nil, 0, err
	case !covers(scope, list.scope):
		return nil, 0, errPageNarrowed
	case wanted.whole && !list.scope.All:
		return nil, 0, errPagePartial
	}
	return list, offset, nil
}

var errPageNarrowed = apierrors.NewResourceExpired(
	"you may not read all of this list any more: list again from the first page")

var errPagePartial = apierrors.NewResourceExpired(
	"this list covers some namespaces only, and require_all_namespaces was not set when it began: list again from the first page")

// queryOf is what the pages of one list have in common. Whether all namespaces are required
// selects nothing: see continued.
func queryOf(request *kubeconnectv1.ListRequest) string {
	common := proto.CloneOf(request)
	common.PageSize, common.PageToken, common.RequireAllNamespaces = 0, "", false
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(common)
	return string(text)
}

func (s *resources) page(list *pagedList, offset int, request *kubeconnectv1.ListRequest, as form, messages bool) *kubeconnectv1.ListResponse {
	waiting := list.snapshot.Objects[offset:]
	if size := int(request.GetPageSize()); size > 0 && size < len(waiting) {
		waiting = waiting[:size]
	}
	namespaces, warnings := list.coverage()
	response := &kubeconnectv1.ListResponse{
		Kind:            shownKind(request, encodeKind(list.resource)),
		ResourceVersion: list.snapshot.ResourceVersion,
		Freshness:       encodeFreshness(list.freshness),
		Source:          list.source,
		Warnings:        warnings,
		Namespaces:      namespaces,
	}
	end := offset + addPage(response, waiting, as, messages)
	response.Remaining = int64(len(list.snapshot.Objects) - end)
	if response.GetRemaining() > 0 {
		response.NextPageToken = s.pages.keep(list, end)
	}
	return response
}

// addPage adds as many objects to a response as fit in a page, and one in any case,
// and answers how many.
func addPage(response *kubeconnectv1.ListResponse, objects []*informerhub.Object, as form, messages bool) int {
	page := make([]byte, 0, as.capacityFor(objects))
	count := 0
	for _, object := range objects {
		most := maxPageBytes
		if count == 0 {
			most = math.MaxInt
		}
		longer, ok := appendListed(page, object, as, most)
		if !ok {
			break
		}
		page = longer
		count++
	}
	setEncoded(response, page, messages)
	return count
}
