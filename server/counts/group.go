package counts

import (
	"cmp"
	"container/list"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/scalar"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

// group has the objects with the same values.
type group struct {
	key     string
	values  []scalar.Value // one for each path
	count   int64
	columns []tally.Tally

	// Only in a State:
	created uint64        // the generation in which the group was created; 0 for one of the snapshot
	changed uint64        // the generation of the last change
	place   *list.Element // in State.live, or in State.removed if the group has no objects; nil in neither
	size    int           // estimated bytes in a message; 0 if it is not in State.live
	slot    int           // its number, unique among the groups of the State at a time
}

// groupBytes estimates the memory of a group and its place in maps and lists, without its key, values
// and aggregates.
const groupBytes = 232

func (g *group) bytes() int { return g.fixedBytes() + g.columnBytes() }

// fixedBytes estimates the memory of the group without its aggregates.
func (g *group) fixedBytes() int {
	size := groupBytes + scalar.TextBytes(g.key)
	for _, value := range g.values {
		size += value.Bytes()
	}
	return size
}

func (g *group) columnBytes() (size int) {
	for i := range g.columns {
		size += g.columns[i].Bytes()
	}
	return size
}

// add adds an object, given by its columns.
func (g *group) add(columns []tally.Summary) {
	g.count++
	for i := range g.columns {
		g.columns[i].Add(columns[i])
	}
}

// remove removes an object that was added before.
func (g *group) remove(columns []tally.Summary) {
	g.count--
	for i := range g.columns {
		g.columns[i].Remove(columns[i])
	}
}

// compare orders larger groups first, and groups of the same size by their values.
func (g *group) compare(other *group) int {
	if order := cmp.Compare(other.count, g.count); order != 0 {
		return order
	}
	for i, value := range g.values {
		if order := cmp.Or(value.Compare(other.values[i]), value.CompareIdentity(other.values[i])); order != 0 {
			return order
		}
	}
	return 0
}

// Group is the number and the aggregates of the objects with the same values. It is a copy, and does
// not change.
type Group struct {
	slot    int // see group
	values  []scalar.Value
	count   int64
	columns []tally.Summary
}

// copied returns a copy of the group.
func (g *group) copied() Group {
	copied := Group{slot: g.slot, values: g.values, count: g.count}
	if g.count > 0 {
		copied.columns = make([]tally.Summary, len(g.columns))
	}
	for i := range copied.columns {
		copied.columns[i] = g.columns[i].Summary()
	}
	return copied
}

// Count returns the number of objects in the group.
func (g Group) Count() int64 { return g.count }

// Encode returns a group as a message. A group without objects has no aggregates.
func (p *Plan) Encode(g Group) *kubeconnectv1.ObjectGroup {
	encoded := &kubeconnectv1.ObjectGroup{Count: g.count}
	for _, value := range g.values {
		encoded.Values = append(encoded.Values, value.Encode())
	}
	if g.count > 0 {
		encoded.Aggregates = p.EncodeAggregates(g)
	}
	return encoded
}

// EncodeAggregates returns the aggregates of a group as messages.
func (p *Plan) EncodeAggregates(g Group) []*kubeconnectv1.AggregateResult {
	encoded := make([]*kubeconnectv1.AggregateResult, len(p.aggregates))
	for i, aggregate := range p.aggregates {
		var column tally.Summary // of a group without objects
		if len(g.columns) > 0 {
			column = g.columns[aggregate.column]
		}
		result := column.Result(aggregate.function)
		encoded[i] = &kubeconnectv1.AggregateResult{
			Value: result.Value, Exact: result.Exact, ValueCount: result.Count, OmittedValueCount: result.Omitted,
		}
	}
	return encoded
}

// encodedBytes estimates the bytes of the group in a message.
func (p *Plan) encodedBytes(g *group) int {
	size := groupOverhead
	for _, value := range g.values {
		size += value.EncodedBytes()
	}
	for _, aggregate := range p.aggregates {
		size += g.columns[aggregate.column].Summary().ResultBytes(aggregate.function)
	}
	return size
}

// groupOverhead is the number of bytes that a message needs for a group in addition to the group's
// own bytes.
const groupOverhead = 1 + binary.MaxVarintLen32

// largest returns the largest groups, at most the given number and as many as fit in a message of
// maxBytes.
func (p *Plan) largest(groups []*group, limit, maxBytes int) []*kubeconnectv1.ObjectGroup {
	slices.SortFunc(groups, (*group).compare)
	var encoded []*kubeconnectv1.ObjectGroup
	size := 0
	for _, group := range groups[:min(limit, len(groups))] {
		next := p.Encode(group.copied())
		if size += proto.Size(next) + groupOverhead; size > maxBytes {
			break
		}
		encoded = append(encoded, next)
	}
	return encoded
}

// distinct returns the different values in order; null if there is none.
func distinct(values []scalar.Value) []scalar.Value {
	if len(values) == 0 {
		return append(values, scalar.Value{})
	}
	slices.SortFunc(values, scalar.Value.CompareIdentity)
	return slices.CompactFunc(values, func(a, b scalar.Value) bool { return a.CompareIdentity(b) == 0 })
}
