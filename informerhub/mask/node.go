package mask

import (
	"errors"
	"slices"
)

// node is the part of a value that a mask keeps.
type node struct {
	all      bool     // everything is kept
	names    []string // of members that are kept, partly or completely; in order
	children []*node  // of names
	each     *node    // for elements, and for members without a name here; nil if none are kept
}

// nothing is a node that keeps nothing.
var nothing = &node{}

// manyNames is the number of names above which binary search is used.
const manyNames = 8

// member returns the node of a member; nil if nothing is kept of it.
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

// element returns the node of the elements of a list.
func (n *node) element() *node {
	if n.each == nil {
		return nothing
	}
	return n.each
}

// add adds a path. A path that begins with an existing one has no effect.
func (n *node) add(path Path) {
	for _, step := range path {
		if n.all {
			return
		}
		n = n.open(step)
	}
	*n = node{all: true}
}

// open returns the node after a step, and creates it if it is missing.
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

// paths returns the paths of the node, each after the prefix to.
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

// maxJoined bounds the work for names next to [*]: the nodes that result, and the names that are copied
// for them. Every path with both at most doubles the nodes.
const maxJoined = 1 << 11

var errTooManyJoined = errors.New("too many of the paths have [*] where others have names: write fewer of them")

// joiner builds nodes in which the node of a name also has what is kept by [*].
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
	settled := &node{names: n.names, children: make([]*node, len(n.children)), each: j.settle(n.each)}
	for i, child := range n.children {
		settled.children[i] = j.settle(j.union(child, n.each))
	}
	if settled.each == n.each && slices.Equal(settled.children, n.children) {
		settled = n // it has no [*] next to names
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
	j.joined += 1 + len(a.names) + len(b.names)
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
