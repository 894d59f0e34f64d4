package reads

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

const (
	// maxGroupPaths bounds the paths that objects are counted by, and maxAggregates the aggregates.
	maxGroupPaths, maxAggregates = 8, 8
	// defaultGroups and maxMaxGroups bound the groups in a response.
	defaultGroups, maxMaxGroups = 1_000, 10_000
	// maxGroupsBytes bounds the bytes of the groups and aggregates in a response, like those of a page.
	maxGroupsBytes = encode.MaxPageBytes
	// maxCountedBytes bounds the memory of the groups while they are counted.
	maxCountedBytes = 64 << 20
	// groupsMemory is the memory that a count reserves at first, for the groups while they are
	// counted and for the response. It reserves more in units of groupsStep.
	groupsMemory, groupsStep = 2 << 20, 1 << 20
)

// countParams are the parsed fields of a request for a count.
type countParams struct {
	SnapshotParams
	plan      *counts.Plan // what is counted
	maxGroups int          // of the response; the smallest groups are left out
}

func parseCount(request *kubeconnectv1.CountRequest) (p countParams, err error) {
	if p.maxGroups, err = parseMaxGroups(request.GetMaxGroups()); err != nil {
		return countParams{}, err
	}
	if p.plan, err = ParsePlan(request); err != nil {
		return countParams{}, err
	}
	p.SnapshotParams, err = parseSnapshot(request)
	return p, err
}

// Counts has the handler of Count.
type Counts struct{ snapshots *Snapshots }

// Count implements kubeconnect.v1.ResourceService.
func (c *Counts) Count(ctx context.Context, request *kubeconnectv1.CountRequest) (*kubeconnectv1.CountResponse, error) {
	params, err := parseCount(request)
	if err != nil {
		return nil, err
	}
	found, err := c.snapshots.Take(ctx, params.SnapshotParams)
	if err != nil {
		return nil, err
	}
	call.NoteCounted(ctx, len(found.Snapshot.Objects))
	namespaces, warnings := found.Coverage()
	response := &kubeconnectv1.CountResponse{
		Resource:        encode.Kind(found.resource),
		TotalCount:      int64(len(found.Snapshot.Objects)),
		ResourceVersion: found.Snapshot.ResourceVersion,
		Freshness:       encode.Freshness(found.freshness),
		Source:          found.source,
		Warnings:        warnings,
		Namespaces:      namespaces,
	}
	if params.plan.CountsOnly() {
		return response, nil // the number of objects is known, and costs no memory
	}
	if err := budget.ReserveResponse(ctx, groupsMemory); err != nil {
		return nil, err
	}
	return response, addGroups(ctx, response, params, found.Snapshot.Objects)
}

// addGroups adds the largest groups of objects, and the aggregates of all objects, to a response, in a processor slot. The aggregates
// are never cut: the groups get the bytes that the aggregates leave.
func addGroups(ctx context.Context, response *kubeconnectv1.CountResponse, params countParams, objects []*informerhub.Object) error {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	counter, err := countAll(ctx, params.plan, objects)
	if err != nil {
		return err
	}
	response.Aggregates = params.plan.EncodeAggregates(counter.Total())
	left := maxGroupsBytes - proto.Size(&kubeconnectv1.CountResponse{Aggregates: response.GetAggregates()})
	if left < 0 {
		return apierror.BadRequest("aggregates: the values need more than %d MiB: give paths with shorter values", maxGroupsBytes>>20)
	}
	groups, remaining := counter.Largest(params.maxGroups, left)
	response.Groups, response.RemainingGroupCount = groups, int64(remaining)
	return nil
}

// countAll counts objects.
func countAll(ctx context.Context, plan *counts.Plan, objects []*informerhub.Object) (*counts.Counter, error) {
	counter := counts.NewCounter(plan, fitsIn(ctx))
	for _, object := range objects {
		if err := counter.Add(ctx, object); err != nil {
			return nil, err
		}
	}
	return counter, nil
}

func parseMaxGroups(requested int32) (int, error) {
	if requested < 0 || requested > maxMaxGroups {
		return 0, apierror.BadRequest("invalid max_groups %d: give 0 to %d", requested, maxMaxGroups)
	}
	return cmp.Or(int(requested), defaultGroups), nil
}

// ParsePlan parses what a request counts.
func ParsePlan(request interface {
	GetGroupBy() []string
	GetAggregates() []*kubeconnectv1.Aggregate
}) (*counts.Plan, error) {
	paths, err := groupPaths(request.GetGroupBy())
	if err != nil {
		return nil, err
	}
	aggregates, err := parseAggregates(request.GetAggregates())
	if err != nil {
		return nil, err
	}
	return counts.NewPlan(paths, aggregates)
}

func groupPaths(texts []string) ([]mask.Path, error) {
	if len(texts) > maxGroupPaths {
		return nil, apierror.BadRequest("group_by has %d paths: give at most %d", len(texts), maxGroupPaths)
	}
	if _, err := mask.Parse(texts); err != nil {
		return nil, apierror.BadRequest("group_by: %v", err)
	}
	paths := make([]mask.Path, len(texts))
	for i, text := range texts {
		paths[i], _ = mask.ParsePath(text) // parsed without an error above
	}
	return paths, nil
}

// functions are the functions of aggregates.
var functions = map[kubeconnectv1.AggregateFunction]tally.Function{
	kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_SUM:     tally.Sum,
	kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_AVERAGE: tally.Average,
	kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MIN:     tally.Min,
	kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_MAX:     tally.Max,
}

func parseAggregates(wanted []*kubeconnectv1.Aggregate) ([]counts.Aggregate, error) {
	if len(wanted) > maxAggregates {
		return nil, apierror.BadRequest("%d aggregates: give at most %d", len(wanted), maxAggregates)
	}
	aggregates, texts := make([]counts.Aggregate, len(wanted)), make([]string, len(wanted))
	seen := make(map[string]bool)
	for i, one := range wanted {
		aggregate, err := parseAggregate(one)
		if err != nil {
			return nil, err
		}
		identity := fmt.Sprint(aggregate.Function, aggregate.Path)
		if seen[identity] {
			return nil, apierror.BadRequest("aggregates: %v of %q is given twice: give it once", one.GetFunction(), one.GetPath())
		}
		seen[identity], aggregates[i], texts[i] = true, aggregate, one.GetPath()
	}
	if _, err := mask.Parse(texts); err != nil {
		return nil, apierror.BadRequest("aggregates: %v", err)
	}
	return aggregates, nil
}

func parseAggregate(one *kubeconnectv1.Aggregate) (counts.Aggregate, error) {
	function, ok := functions[one.GetFunction()]
	switch {
	case one.GetFunction() == kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_UNSPECIFIED:
		return counts.Aggregate{}, apierror.BadRequest("aggregates: a function is required: give SUM, AVERAGE, MIN or MAX")
	case !ok:
		return counts.Aggregate{}, apierror.BadRequest("aggregates: unknown function %d: give SUM, AVERAGE, MIN or MAX", one.GetFunction())
	case one.GetPath() == "":
		return counts.Aggregate{}, apierror.BadRequest("aggregates: a path is required")
	}
	path, err := mask.ParsePath(one.GetPath())
	if err != nil {
		return counts.Aggregate{}, apierror.BadRequest("aggregates: %v", err)
	}
	return counts.Aggregate{Function: function, Path: path}, nil
}

// fitsIn returns a function that reserves memory for groups of a size, and the same amount for the
// response. It returns an error if that is too much. It does not wait, because counting holds a processor slot.
func fitsIn(ctx context.Context) func(groups, bytes int) error {
	// Half of what the call has reserved is for the response.
	held := groupsMemory / 2
	return func(groups, bytes int) error {
		if bytes > maxCountedBytes {
			return apierror.BadRequest("group_by: too many different values, more than %d: select fewer objects", groups)
		}
		for bytes > held {
			held += groupsStep
			if err := budget.ReserveMore(ctx, 2*groupsStep); err != nil {
				return err
			}
		}
		return nil
	}
}
