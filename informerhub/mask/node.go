package mask

import (
	"errors"
	"slices"
)

// node is what a mask keeps of a value.
type node struct {
	all      bool     // everything
	names    []string // of members that are kept, in part or whole; in order
	children []*node  // of names
	each     *node    // of elements, and of members that have no name here; nil if none
}

// nothing keeps nothing of a value.
var nothing = &node{}

// manyNames are more than are looked for one after the other.
const manyNames = 8

// member is what is kept of a member; nil if nothing is.
func (n *node) member(name string) *node {
	if len(n.names) > manyNames {
		if at, ok := slices.BinarySearch(n.names, name); ok {
			return n.children[at]
		}
		return n.each
	}
	for i := range n.names {
		if n.names[i] == name {
			return n.children[i]
		}
	}
	return n.each
}

// element is what is kept of each element of a list.
func (n *node) element() *node {
	if n.each == nil {
		return nothing
	}
	return n.each
}

// add adds a path; one that begins with another is in that.
func (n *node) add(path Path) {
	for _, step := range path {
		if n.all {
			return
		}
		n = n.open(step)
	}
	*n = node{all: true}
}

// open is the node behind a step.
func (n *node) open(step Step) *node {
	if step.Each {
		if n.each == nil {
			n.each = &node{}
		}
		return n.each
	}
	at, ok := slices.BinarySearch(n.names, step.Name)
	if !ok {
		n.names = slices.Insert(n.names, at, step.Name)
		n.children = slices.Insert(n.children, at, &node{})
	}
	return n.children[at]
}

// paths are those that make the node, each behind one that leads there.
func (n *node) paths(to Path) (all []Path) {
	if n.all {
		return []Path{slices.Clone(to)}
	}
	if n.each != nil {
		all = n.each.paths(append(to, Step{Each: true}))
	}
	for i, name := range n.names {
		all = append(all, n.children[i].paths(append(to, Step{Name: name}))...)
	}
	return all
}

// maxJoined is how many nodes may come of names that stand beside [*]. Every path with
// both doubles them at worst.
const maxJoined = 1 << 14

var errTooManyJoined = errors.New("too many of the paths have [*] where others have names: write fewer of them")

// joiner makes nodes in which a name has all that is kept of it, also by way of [*].
type joiner struct {
	joined int
	done   map[*node]*node
}

func join(n *node) (*node, error) {
	j := joiner{done: make(map[*node]*node)}
	n = j.settle(n)
	if j.joined > maxJoined {
		return nil, errTooManyJoined
	}
	return n, nil
}

func (j *joiner) settle(n *node) *node {
	if n == nil || n.all || j.joined > maxJoined {
		return n
	}
	if settled := j.done[n]; settled != nil {
		return settled
	}
	settled := &node{names: n.names, each: j.settle(n.each)}
	for _, child := range n.children {
		settled.children = append(settled.children, j.settle(j.union(child, n.each)))
	}
	j.done[n] = settled
	return settled
}

func (j *joiner) union(a, b *node) *node {
	switch {
	case a == nil || b != nil && b.all:
		return b
	case b == nil || a.all || a == b || j.joined > maxJoined:
		return a
	}
	j.joined++
	both := &node{each: j.union(a.each, b.each), names: slices.Clone(a.names), children: slices.Clone(a.children)}
	for i, name := range b.names {
		at, ok := slices.BinarySearch(both.names, name)
		if ok {
			both.children[at] = j.union(both.children[at], b.children[i])
			continue
		}
		both.names = slices.Insert(both.names, at, name)
		both.children = slices.Insert(both.children, at, b.children[i])
	}
	return both
}
