package harness

import kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

// WatchSpecs returns the watches of requests, for one stream. The requests must have no resume
// token.
func WatchSpecs(requests ...*kubeconnectv1.WatchRequest) []*kubeconnectv1.WatchSpec {
	specs := make([]*kubeconnectv1.WatchSpec, len(requests))
	for i, request := range requests {
		specs[i] = &kubeconnectv1.WatchSpec{
			Resource:             request.GetResource(),
			Namespace:            request.GetNamespace(),
			Name:                 request.GetName(),
			LabelSelector:        request.GetLabelSelector(),
			FieldSelector:        request.GetFieldSelector(),
			Filter:               request.GetFilter(),
			Related:              request.GetRelated(),
			Fields:               request.GetFields(),
			MetadataOnly:         request.GetMetadataOnly(),
			Encoding:             request.GetEncoding(),
			PatchFormat:          request.GetPatchFormat(),
			MinResourceVersion:   request.GetMinResourceVersion(),
			RequireAllNamespaces: request.GetRequireAllNamespaces(),
		}
	}
	return specs
}
