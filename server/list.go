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
	order, err := orderOf(request)
	if err != nil {
		return nil, err
	}
	list, offset, err := s.snapshotFor(ctx, request)
	if err != nil {
		return nil, err
	}
	as := form{request.GetEncoding(), fields, wantsMessages(ctx)}
	if err := holdAnswer(ctx, order.memoryFor(list)+as.memoryFor(candidates(list, offset, request, order))); err != nil {
		return nil, err
	}
	return s.answerPage(ctx, list, offset, request, order, as)
}

// answerPage makes a page of a list that is yet to be put into an order.
func (s *resources) answerPage(ctx context.Context, list *pagedList, offset int, request *kubeconnectv1.ListRequest, by order, as form) (*kubeconnectv1.ListResponse, error) {
	long := len(by.paths) > 0 && len(list.snapshot.Objects) > objectsBetweenYields || as.capacityFor(nextObjects(list, offset, request)) > shortBytes
	return answerInTurn(ctx, long, func(ctx context.Context) (*kubeconnectv1.ListResponse, error) {
		list, err := list.sorted(ctx, by)
		if err != nil {
			return nil, err
		}
		return s.page(ctx, list, offset, request, as)
	})
}

// candidates returns objects from which a page is taken: those that come next, or all of a list
// that is yet to be sorted.
func candidates(list *pagedList, offset int, request *kubeconnectv1.ListRequest, order order) []*informerhub.Object {
	if len(order.paths) > 0 {
		return list.snapshot.Objects
	}
	return nextObjects(list, offset, request)
}

func nextObjects(list *pagedList, offset int, request *kubeconnectv1.ListRequest) []*informerhub.Object {
	waiting := list.snapshot.Objects[offset:]
	if size := int(request.GetPageSize()); size > 0 && size < len(waiting) {
		return waiting[:size]
	}
	return waiting
}

// snapshotFor answers the snapshot that a page is taken from, and where in it the
// page begins: a new one, yet to be sorted, for a first page, the same one for those that follow.
func (s *resources) snapshotFor(ctx context.Context, request *kubeconnectv1.ListRequest) (*pagedList, int, error) {
	query := queryOf(request)
	if request.GetPageToken() != "" {
		return s.continued(ctx, request, query)
	}
	found, err := s.selectFor(ctx, request)
	if err != nil {
		return nil, 0, err
	}
	identity := identityFrom(ctx)
	return &pagedList{selected: found, query: query, caller: identity.UserKey(), owner: callerOf(identity)}, 0, nil
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

func (s *resources) page(ctx context.Context, list *pagedList, offset int, request *kubeconnectv1.ListRequest, as form) (*kubeconnectv1.ListResponse, error) {
	namespaces, warnings := list.coverage()
	response := &kubeconnectv1.ListResponse{
		Kind:            shownKind(request, encodeKind(list.resource)),
		ResourceVersion: list.snapshot.ResourceVersion,
		Freshness:       encodeFreshness(list.freshness),
		Source:          list.source,
		Warnings:        warnings,
		Namespaces:      namespaces,
	}
	added, err := addPage(ctx, response, nextObjects(list, offset, request), as)
	if err != nil {
		return nil, err
	}
	end := offset + added
	response.Remaining = int64(len(list.snapshot.Objects) - end)
	if response.GetRemaining() > 0 {
		response.NextPageToken = s.pages.keep(list, end)
	}
	return response, nil
}

// addPage adds as many objects to a response as fit in a page, and one in any case,
// and answers how many.
func addPage(ctx context.Context, response *kubeconnectv1.ListResponse, objects []*informerhub.Object, as form) (int, error) {
	page := make([]byte, 0, as.capacityFor(objects))
	count := 0
	for _, object := range objects {
		if err := yieldEvery(ctx, count); err != nil {
			return 0, err
		}
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
	setEncoded(response, page, as.messages)
	return count, nil
}
