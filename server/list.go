package server

import (
	"context"
	"math"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// List implements kubeconnect.v1.ResourceService.
func (s *resources) List(ctx context.Context, request *kubeconnectv1.ListRequest) (*kubeconnectv1.ListResponse, error) {
	if err := checkReading(request); err != nil {
		return nil, err
	}
	if request.GetPageSize() < 0 {
		return nil, apierror.BadRequest("invalid page_size %d: give 0 or more", request.GetPageSize())
	}
	fields, err := encode.Fields(request.GetFields(), request.GetMetadataOnly())
	if err != nil {
		return nil, err
	}
	order, err := parseOrder(request.GetOrderBy())
	if err != nil {
		return nil, err
	}
	view := encode.View{Encoding: request.GetEncoding(), Fields: fields, Messages: edge.WantsMessages(ctx)}
	list, err := s.listFor(ctx, request, order, view)
	if err != nil {
		return nil, err
	}
	if err := reserveResponse(ctx, list.memoryToSort()+view.Memory(list.candidates(request))); err != nil {
		return nil, err
	}
	return s.answerPage(ctx, list, request, view)
}

// listFor returns the list that a page is taken from. A request without a page token starts a new
// list.
func (s *resources) listFor(ctx context.Context, request *kubeconnectv1.ListRequest, order order, view encode.View) (*pagedList, error) {
	if request.GetPageToken() != "" {
		return s.continued(ctx, request, order, view)
	}
	found, err := s.selectFor(ctx, request)
	if err != nil {
		return nil, err
	}
	if found, err = s.completed(ctx, found, request, view); err != nil {
		return nil, err
	}
	return s.firstOf(found, request, order), nil
}

// answerPage builds a page of a list, and sorts the list first if necessary.
func (s *resources) answerPage(ctx context.Context, list *pagedList, request *kubeconnectv1.ListRequest, view encode.View) (*kubeconnectv1.ListResponse, error) {
	long := list.isLongToSort() || view.Capacity(list.candidates(request)) > shortBytes
	return respondInSlot(ctx, long, func(ctx context.Context) (*kubeconnectv1.ListResponse, error) {
		if err := list.arrange(ctx); err != nil {
			return nil, err
		}
		return s.page(ctx, list, request, view)
	})
}

func (s *resources) page(ctx context.Context, list *pagedList, request *kubeconnectv1.ListRequest, view encode.View) (*kubeconnectv1.ListResponse, error) {
	namespaces, warnings := list.coverage()
	response := &kubeconnectv1.ListResponse{
		Resource:        encode.ShownKind(encode.Kind(list.resource), request.GetMetadataOnly()),
		ResourceVersion: list.token.position.Version,
		Freshness:       encode.Freshness(list.freshness),
		Source:          list.source,
		Warnings:        warnings,
		Namespaces:      namespaces,
	}
	coming, err := list.next()
	if err != nil {
		return nil, err
	}
	added, err := addPage(ctx, response, onePage(coming, request), view)
	if err != nil || added == len(coming) && !list.more {
		return response, err
	}
	next := list.nextToken(coming, added)
	response.RemainingItemCount, response.NextPageToken = int64(next.left), next.write()
	if !s.cacheList(ctx, list, request) && list.unshared && !list.first {
		return nil, errPageNotKept // the next page would need another complete list of the API server
	}
	return response, nil
}

// addPage adds to response as many objects as fit in a page, and at least one. It returns the
// number added.
func addPage(ctx context.Context, response *kubeconnectv1.ListResponse, objects []*informerhub.Object, view encode.View) (int, error) {
	page := make([]byte, 0, view.Capacity(objects))
	count := 0
	for _, object := range objects {
		if err := yieldEvery(ctx, count); err != nil {
			return 0, err
		}
		most := encode.MaxPageBytes
		if count == 0 {
			most = math.MaxInt
		}
		longer, ok := encode.AppendListed(page, object, view, most)
		if !ok {
			break
		}
		page = longer
		count++
	}
	encode.Set(response, page, view.Messages)
	return count, nil
}
