package streams

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

// manyParams are the parsed fields of a request for several watches and counts.
type manyParams struct {
	parts       []partParams // the watches, then the counts
	independent bool
}

// partParams are the parsed fields of one of the watches, or of one of the counts.
type partParams struct {
	resource string             // as in the request
	watch    *WatchParams       // nil for counts
	counts   *watchCountsParams // nil for a watch
	rejected error              // why the request is invalid; nil if it is valid
}

// parseWatchMany returns the parameters of each part, with the resume token of each watch. An invalid
// part is an error, unless the parts are independent.
func parseWatchMany(request *kubeconnectv1.WatchManyRequest) (manyParams, error) {
	watches, counts := request.GetWatches(), request.GetCounts()
	if parts := len(watches) + len(counts); parts == 0 || parts > maxWatches {
		return manyParams{}, apierror.BadRequest("%d watches and counts: give 1 to %d in one stream", parts, maxWatches)
	}
	tokens, err := resumeTokens(request)
	if err != nil {
		return manyParams{}, err
	}
	p := manyParams{independent: request.GetIndependent()}
	for i, spec := range watches {
		params, err := ParseWatch(requestOf(spec, tokens[i]))
		p.parts = append(p.parts, partParams{resource: spec.GetResource(), watch: &params, rejected: err})
	}
	for _, request := range counts {
		params, err := parseWatchCounts(request)
		p.parts = append(p.parts, partParams{resource: request.GetResource(), counts: &params, rejected: err})
	}
	return p, p.check()
}

// resumeTokens returns the token of each watch.
func resumeTokens(request *kubeconnectv1.WatchManyRequest) ([]string, error) {
	if !request.GetIndependent() {
		for i, spec := range request.GetWatches() {
			if spec.GetOwnResumeToken() != "" {
				return nil, apierror.BadRequest("watch %d has an own_resume_token, which needs independent: set independent, or resume all watches with the request's resume_token", i)
			}
		}
		return tokens.Split(request.GetResumeToken(), len(request.GetWatches()))
	}
	if request.GetResumeToken() != "" {
		return nil, apierror.BadRequest("resume_token is not allowed together with independent: give each watch its own_resume_token")
	}
	var tokens []string
	for _, spec := range request.GetWatches() {
		tokens = append(tokens, spec.GetOwnResumeToken())
	}
	return tokens, nil
}

// mostInPages bounds the objects of all pages of a WatchMany, because its tokens list them: each
// response has a token of all watches, and the tokens of independent watches must fit into one request.
const mostInPages = 1000

// check returns the error that rejects the whole request.
func (p manyParams) check() error {
	inPages := 0
	for i, part := range p.parts {
		switch {
		case part.rejected != nil && !p.independent:
			return part.errorAt(i, part.rejected)
		case part.rejected == nil && part.watch != nil && part.watch.page != nil:
			inPages += part.watch.page.limit
		}
	}
	if inPages > mostInPages {
		return apierror.BadRequest("the pages have %d objects together: give limits of at most %d in one stream", inPages, mostInPages)
	}
	return nil
}

// errorAt returns the error of a part with an index. Its message names the part.
func (p partParams) errorAt(index int, err error) error {
	kind := "watch"
	if p.counts != nil {
		kind = "counts"
	}
	return callerrors.WithPrefix(err, fmt.Sprintf("%s %d (%s)", kind, index, callerrors.CutName(p.resource)))
}

// requestOf returns the request of one of several watches.
func requestOf(watch *kubeconnectv1.WatchSpec, resumeToken string) *kubeconnectv1.WatchRequest {
	return &kubeconnectv1.WatchRequest{
		Resource:             watch.GetResource(),
		Namespace:            watch.GetNamespace(),
		Name:                 watch.GetName(),
		LabelSelector:        watch.GetLabelSelector(),
		FieldSelector:        watch.GetFieldSelector(),
		Filter:               watch.GetFilter(),
		Related:              watch.GetRelated(),
		Fields:               watch.GetFields(),
		MetadataOnly:         watch.GetMetadataOnly(),
		Encoding:             watch.GetEncoding(),
		PatchFormat:          watch.GetPatchFormat(),
		MinResourceVersion:   watch.GetMinResourceVersion(),
		RequireAllNamespaces: watch.GetRequireAllNamespaces(),
		Limit:                watch.GetLimit(),
		OrderBy:              watch.GetOrderBy(),
		Offset:               watch.GetOffset(),
		After:                watch.GetAfter(),
		Joins:                watch.GetJoins(),
		ResumeToken:          resumeToken,
	}
}
