package counts

import (
	"context"
	"maps"
	"slices"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/scalar"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

// Counter counts objects. It is owned by one goroutine.
type Counter struct {
	plan     *Plan
	newTally func(tally.Function) tally.Tally
	// fits returns an error if there are too many groups, or if they need too many bytes. It is
	// called after each change that needs more memory.
	fits func(groups, bytes int) error

	total  *group
	groups map[string]*group // by their values
	bytes  int
	steps  int

	// The object that is counted:
	reading *reading
	tuple   []scalar.Value // one value for each path
	key     []byte
}

// NewCounter returns a counter of the objects that are added to it. It calls fits when the groups
// need more memory, and ends with its error. fits must not keep anything.
func NewCounter(plan *Plan, fits func(groups, bytes int) error) *Counter {
	return newCounter(plan, fits, func(functions tally.Function) tally.Tally { return tally.New(functions) })
}

func newCounter(plan *Plan, fits func(groups, bytes int) error, newTally func(tally.Function) tally.Tally) *Counter {
	c := &Counter{
		plan: plan, newTally: newTally, fits: fits, groups: make(map[string]*group),
		reading: newReading(plan), tuple: make([]scalar.Value, len(plan.groupBy)),
	}
	c.total = c.newGroup("", nil)
	c.bytes = c.total.bytes()
	return c
}

func (c *Counter) newGroup(key string, values []scalar.Value) *group {
	g := &group{key: key, values: values, columns: make([]tally.Tally, len(c.plan.columns))}
	for i, functions := range c.plan.columns {
		g.columns[i] = c.newTally(functions)
	}
	return g
}

// Add counts an object in the total, and once in each group that it belongs to.
func (c *Counter) Add(ctx context.Context, object *informerhub.Object) error {
	defer c.release()
	if err := c.reading.read(object); err != nil {
		return err
	}
	return c.eachGroup(ctx, func(g *group) { g.add(c.reading.columns) })
}

// release drops what was read of the object that was counted, and large buffers.
func (c *Counter) release() {
	c.reading.release()
	clear(c.tuple)
	if cap(c.key) > maxBuffer {
		c.key = nil
	}
}

// bufferBytes returns the memory of the buffers that are kept for the next object.
func (c *Counter) bufferBytes() int { return c.reading.bytes() + cap(c.key) }

// Total returns the number and the aggregates of all objects.
func (c *Counter) Total() Group { return c.total.copied() }

// Largest returns the largest groups as messages: at most the given number, and as many as fit into
// maxBytes. It also returns the number of groups that were omitted.
func (c *Counter) Largest(limit, maxBytes int) (largest []*kubeconnectv1.ObjectGroup, remaining int) {
	largest = c.plan.largest(slices.Collect(maps.Values(c.groups)), limit, maxBytes)
	return largest, len(c.groups) - len(largest)
}

// eachGroup calls change with the total, and with each group that the object belongs to that was
// read.
func (c *Counter) eachGroup(ctx context.Context, change func(*group)) error {
	if err := c.changeGroup(ctx, c.total, change); err != nil || !c.plan.Grouped() {
		return err
	}
	return c.eachTuple(0, func() error { return c.changeGroup(ctx, c.groupOfTuple(), change) })
}

// eachTuple calls visit with the combinations of the values of a path and of the paths after it.
func (c *Counter) eachTuple(path int, visit func() error) error {
	if path == len(c.tuple) {
		return visit()
	}
	for _, value := range c.reading.values[path] {
		c.tuple[path] = value
		if err := c.eachTuple(path+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// groupOfTuple returns the group of a combination of values.
func (c *Counter) groupOfTuple() *group {
	c.key = c.key[:0]
	for _, value := range c.tuple {
		c.key = value.AppendKey(c.key)
	}
	if known := c.groups[string(c.key)]; known != nil {
		return known
	}
	added := c.newGroup(string(c.key), slices.Clone(c.tuple))
	c.groups[added.key] = added
	c.bytes += added.bytes()
	return added
}

// stepsBetweenYields is the number of changes of groups between checks whether the client has
// disconnected and whether another caller waits for a processor slot.
const stepsBetweenYields = 32

func (c *Counter) changeGroup(ctx context.Context, g *group, change func(*group)) error {
	if c.steps++; c.steps%stepsBetweenYields == 0 {
		if err := fairqueue.Yield(ctx); err != nil {
			return err
		}
	}
	before := g.columnBytes()
	change(g)
	c.bytes += g.columnBytes() - before
	return c.fits(len(c.groups), c.bytes)
}
