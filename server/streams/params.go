package streams

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/sorted"
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
// part is an error, unless the parts are independent. The watches come first, in the order of the
// request: the indexes of responses and of tokens depend on that.
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

// maxInPages bounds the objects of all pages of a WatchMany, because its tokens list them: each
// response has a token of all watches, and the tokens of independent watches must fit into one request.
const maxInPages = 1000

// check returns the error that rejects the whole request. Only the pages of valid parts count: an invalid part of an independent
// stream is never started.
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
	if inPages > maxInPages {
		return apierror.BadRequest("the pages have %d objects together: give limits of at most %d in one stream", inPages, maxInPages)
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

// requestOf returns the request of a watch in a WatchMany, so that it is parsed, and hashed for tokens, like a Watch. A field
// that is missing here would be ignored in a WatchMany.
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

// WatchParams are the parsed fields of a request for a watch.
type WatchParams struct {
	reads.Selection
	Name        string // empty for all objects that match
	Fields      *mask.Mask
	encoding    kubeconnectv1.Encoding
	patches     kubeconnectv1.PatchFormat
	page        *pageParams        // nil for all objects
	joins       []reads.JoinParams // of the objects of the page
	resumeToken string             // validated when the watch has its resource; see tokens.read
	hash        [sha256.Size]byte  // of what the watch selects, without the resource
}

// ParseWatch parses a request for a watch. It does not look at the resource or at the resume token, which are checked when
// the watch has its resource. A filter is compiled after the caller is authorized.
func ParseWatch(request *kubeconnectv1.WatchRequest) (p WatchParams, err error) {
	if err := errors.Join(encode.Check(request.GetEncoding()), encode.CheckPatches(request.GetPatchFormat(), request.GetEncoding())); err != nil {
		return WatchParams{}, err
	}
	if err := checkWatchedRelation(request.GetRelated()); err != nil {
		return WatchParams{}, err
	}
	p = WatchParams{Name: request.GetName(), encoding: request.GetEncoding(), patches: request.GetPatchFormat(), resumeToken: request.GetResumeToken()}
	if p.Fields, err = encode.Fields(request.GetFields(), request.GetMetadataOnly()); err != nil {
		return WatchParams{}, err
	}
	if p.page, err = parsePage(request); err != nil {
		return WatchParams{}, err
	}
	if p.joins, err = reads.ParseWatchJoins(request); err != nil {
		return WatchParams{}, err
	}
	p.Selection, err = reads.ParseSelection(request)
	if request.GetMetadataOnly() {
		p.Selection = p.OfMetadata()
	}
	p.hash = hashSelection(request, p.Fields, p.page)
	return p, err
}

// checkWatchedRelation rejects a relation that a stream cannot follow.
func checkWatchedRelation(related *kubeconnectv1.Relation) error {
	if related.GetTransitive() {
		return apierror.BadRequest("related.transitive is not supported by a watch, which cannot follow owners that are created and deleted: use SELECTED_BY to select the pods of a deployment")
	}
	return nil
}

// hashSelection returns a hash of the fields of a request that determine which objects a watch
// selects, and what it sends of them. The resource is left out, because it has several spellings,
// and the relation, which is known when it is resolved. The result is a part of the format of tokens:
// a change of it for a request that exists is a new format, see NewestFormat.
func hashSelection(request *kubeconnectv1.WatchRequest, fields *mask.Mask, page *pageParams) [sha256.Size]byte {
	selects := proto.CloneOf(request)
	if fields != nil {
		selects.Fields = []string{fields.String()}
	}

	// Fields that may differ between the streams of one watch are cleared. The format of patches, and the encoding that they
	// apply to, are in the served state of a token instead: see tokens.Watch.OfPatches.
	selects.Resource, selects.Related = "", nil
	selects.ResumeToken, selects.MinResourceVersion, selects.RequireAllNamespaces = "", "", false // they select nothing
	selects.Limit, selects.Offset, selects.After = min(selects.GetLimit(), 1), 0, nil             // a page can be scrolled
	if page != nil {
		selects.OrderBy = page.order.String()
	}
	selects.Encoding, selects.PatchFormat = kubeconnectv1.Encoding_ENCODING_UNSPECIFIED, encode.WholeObject
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(selects)
	return sha256.Sum256(text)
}

// pageParams are the parsed fields of a request for a page that stays live.
type pageParams struct {
	order  sorted.Order
	limit  int
	offset int
	after  *informerhub.ObjectName // the object before the page; nil if offset counts
}

// parsePage parses the fields of a page; nil if the request has none.
func parsePage(request *kubeconnectv1.WatchRequest) (*pageParams, error) {
	limit, offset, after := request.GetLimit(), request.GetOffset(), request.GetAfter()
	switch {
	case limit < 0 || limit > maxInPage:
		return nil, apierror.BadRequest("invalid limit %d: give 1 to %d", limit, maxInPage)
	case limit == 0 && (request.GetOrderBy() != "" || offset != 0 || after != nil):
		return nil, apierror.BadRequest("order_by, offset and after need a limit: a watch of all objects has no order")
	case limit == 0:
		return nil, nil
	case offset < 0 || offset > math.MaxInt32:
		return nil, apierror.BadRequest("invalid offset %d: give 0 to %d", offset, math.MaxInt32)
	case after != nil && offset != 0:
		return nil, apierror.BadRequest("offset and after are both set: give one of them")
	case after != nil && after.GetName() == "":
		return nil, apierror.BadRequest("after.name is required")
	}
	order, err := sorted.Parse(request.GetOrderBy())
	if err != nil {
		return nil, err
	}
	params := &pageParams{order: order, limit: int(limit), offset: int(offset)}
	if after != nil {
		params.after = &informerhub.ObjectName{Namespace: after.GetNamespace(), Name: after.GetName()}
	}
	_, err = sorted.NewObjects(order) // checks that the order can be kept; livePage.join relies on it
	return params, err
}

// maxInPage bounds WatchRequest.limit.
const maxInPage = 500

// The bounds and the default of WatchCountsRequest.min_interval.
const (
	minCountsInterval     = 100 * time.Millisecond
	maxCountsInterval     = 60 * time.Second
	defaultCountsInterval = time.Second
)

// watchCountsParams are the parsed fields of a request for live counts.
type watchCountsParams struct {
	reads.Selection
	plan     *counts.Plan
	interval time.Duration
	reached  informerhub.Position // of the counts that the client has; zero if it has none
}

// parseWatchCounts parses a request for live counts. reached is empty: it is set when the scope of open counts changes.
func parseWatchCounts(request *kubeconnectv1.WatchCountsRequest) (p watchCountsParams, err error) {
	if err := checkWatchedRelation(request.GetRelated()); err != nil {
		return watchCountsParams{}, err
	}
	if p.interval, err = parseInterval(request); err != nil {
		return watchCountsParams{}, err
	}
	if p.plan, err = reads.ParsePlan(request); err != nil {
		return watchCountsParams{}, err
	}
	p.Selection, err = reads.ParseSelection(request)
	return p, err
}

func parseInterval(request *kubeconnectv1.WatchCountsRequest) (time.Duration, error) {
	if request.GetMinInterval() == nil {
		return defaultCountsInterval, nil
	}
	interval := request.GetMinInterval().AsDuration()
	if !request.GetMinInterval().IsValid() || interval < minCountsInterval || interval > maxCountsInterval {
		return 0, apierror.BadRequest("invalid min_interval %v: give %v to %v", interval, minCountsInterval, maxCountsInterval)
	}
	return interval, nil
}
