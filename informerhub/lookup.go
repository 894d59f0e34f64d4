package informerhub

import (
	"unique"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// lookup is a condition of a selection that the indexes of the partitions can answer: one of some
// labels, or one of some values of a field.
type lookup struct {
	labels []unique.Handle[object.Label]
	field  string // if labels is nil
	values []string
}

func (l *lookup) size() int { return len(l.labels) + len(l.values) }

// entries returns the entries of a partition that have the i-th label or value, in order of name.
// The result shares the index's memory.
func (l *lookup) entries(p *partition, i int) []*entry {
	if l.labels != nil {
		return p.byLabel[l.labels[i]]
	}
	return p.byField[l.field][l.values[i]]
}

// count returns the number of entries in some partitions that the lookup finds.
func (l *lookup) count(partitions []*partition) (count int) {
	for _, p := range partitions {
		for i := range l.size() {
			count += len(l.entries(p, i))
		}
	}
	return count
}

// lookupsOf returns the lookups for the conditions of a selection.
func lookupsOf(sel *Selection) (all []*lookup) {
	for _, requirement := range sel.requirements {
		if namesValues(requirement) {
			all = append(all, labelLookup(requirement))
		}
	}
	for _, c := range sel.conditions {
		if c.Indexable() {
			all = append(all, &lookup{field: c.Field, values: c.Values})
		}
	}
	return all
}

func namesValues(requirement labels.Requirement) bool {
	switch requirement.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return true
	}
	return false
}

func labelLookup(requirement labels.Requirement) *lookup {
	l := &lookup{}
	for _, value := range requirement.ValuesUnsorted() {
		l.labels = append(l.labels, unique.Make(object.Label{Key: requirement.Key(), Value: value}))
	}
	return l
}

// narrowest returns the lookup that finds the fewest entries in some partitions; nil if none finds
// less than all. It counts the entries without collecting them. A lookup that would take more steps
// than examining all entries is skipped.
func (s *store) narrowest(lookups []*lookup, partitions []*partition, all int) (best *lookup) {
	fewest, steps := all, 0
	for _, index := range lookups {
		if index.labels == nil && !s.isIndexed(index.field) || steps+index.size()*len(partitions) > all {
			continue
		}
		steps += index.size() * len(partitions)
		if count := index.count(partitions); count < fewest {
			best, fewest = index, count
		}
	}
	s.examined.Add(int64(steps))
	return best
}

// isIndexed reports whether the index of a field can be used.
func (s *store) isIndexed(field string) bool {
	index := s.fields[field]
	return index != nil && index.complete
}
