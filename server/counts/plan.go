package counts

import (
	"errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/listkey"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/scalar"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

// Aggregate is a value to compute over objects.
type Aggregate struct {
	Function tally.Function
	Path     mask.Path
}

// Plan is what is counted: the paths of groups, and aggregates. It is never changed.
type Plan struct {
	groupBy    []mask.Path
	aggregates []aggregate
	columns    []tally.Function // the functions for each different path of the aggregates
	reader     *scalar.Reader   // of the paths of groups, and then of the columns
	key        PlanKey
}

// PlanKey identifies a plan: plans with equal keys count the same, in the same form. It is comparable.
type PlanKey struct {
	groupBy    listkey.Key[listkey.Key[mask.Step]]
	aggregates listkey.Key[aggregateKey]
}

type aggregateKey struct {
	function tally.Function
	path     listkey.Key[mask.Step]
}

// aggregate is one function of a column.
type aggregate struct {
	column   int
	function tally.Function
}

// NewPlan returns a plan. The error is that of a request with too many or too long paths.
func NewPlan(groupBy []mask.Path, aggregates []Aggregate) (*Plan, error) {
	p := &Plan{groupBy: groupBy, key: PlanKey{
		groupBy:    listkey.OfFunc(groupBy, mask.Path.Key),
		aggregates: listkey.OfFunc(aggregates, func(a Aggregate) aggregateKey { return aggregateKey{a.Function, a.Path.Key()} }),
	}}
	paths := append([]mask.Path(nil), groupBy...)
	columnOf := make(map[listkey.Key[mask.Step]]int)
	for _, wanted := range aggregates {
		column, ok := columnOf[wanted.Path.Key()]
		if !ok {
			column = len(p.columns)
			columnOf[wanted.Path.Key()] = column
			p.columns, paths = append(p.columns, 0), append(paths, wanted.Path)
		}
		p.columns[column] |= wanted.Function
		p.aggregates = append(p.aggregates, aggregate{column, wanted.Function})
	}
	var err error
	if p.reader, err = scalar.NewReader(paths); err != nil {
		return nil, apierror.BadRequest("group_by and aggregates: %v", err)
	}
	return p, nil
}

// Key returns the key of the plan.
func (p *Plan) Key() PlanKey { return p.key }

// CountsOnly reports whether the plan has neither groups nor aggregates.
func (p *Plan) CountsOnly() bool { return len(p.groupBy)+len(p.aggregates) == 0 }

// Grouped reports whether the plan has groups.
func (p *Plan) Grouped() bool { return len(p.groupBy) > 0 }

// rejection returns the error of a request with a path whose values cannot be counted.
func (p *Plan) rejection(err error) error {
	var values *scalar.ValuesError
	if errors.As(err, &values) && values.Path >= len(p.groupBy) {
		return apierror.BadRequest("aggregates: %v", err)
	}
	return apierror.BadRequest("group_by: %v", err)
}

// reading reads the values that a plan needs. It is owned by one goroutine, and used for one object
// at a time.
type reading struct {
	plan   *Plan
	reader *scalar.Reader

	values  [][]scalar.Value // by path of groups, in order and without duplicates; null if there is none
	columns []tally.Summary
}

func newReading(plan *Plan) *reading {
	return &reading{
		plan: plan, reader: plan.reader.Copy(),
		values: make([][]scalar.Value, len(plan.groupBy)), columns: make([]tally.Summary, len(plan.columns)),
	}
}

// read reads the values of an object. The caller must call release when it has used them.
func (r *reading) read(object *informerhub.Object) error {
	for i := range r.values {
		r.values[i] = r.values[i][:0]
	}
	clear(r.columns)
	if err := r.reader.Read(object, r.add); err != nil {
		return r.plan.rejection(err)
	}
	for i, values := range r.values {
		r.values[i] = distinct(values)
	}
	return r.checkTuples(object)
}

// maxBuffer bounds each buffer that is kept for the next object.
const maxBuffer = 64 << 10

// release drops the values of the object that was read, and large buffers.
func (r *reading) release() {
	for i, values := range r.values {
		clear(values)
		if cap(values)*scalar.ValueBytes > maxBuffer {
			r.values[i] = nil
		}
	}
	clear(r.columns)
}

// bytes returns the memory of the buffers that are kept for the next object.
func (r *reading) bytes() int {
	size := r.reader.Bytes()
	for _, values := range r.values {
		size += cap(values) * scalar.ValueBytes
	}
	return size
}

func (r *reading) add(path int, value scalar.Value) {
	if path < len(r.values) {
		r.values[path] = append(r.values[path], value)
		return
	}
	r.columns[path-len(r.values)].Add(value)
}

// maxTuples bounds the groups that one object belongs to. If paths have several values, the object
// belongs to every combination of them.
const maxTuples = 10_000

func (r *reading) checkTuples(object *informerhub.Object) error {
	tuples := 1
	for _, values := range r.values {
		if tuples *= len(values); tuples > maxTuples {
			return apierror.BadRequest("group_by: the values of %s %q have more than %d combinations: give fewer paths", object.Kind().Kind, object.Name(), maxTuples)
		}
	}
	return nil
}
