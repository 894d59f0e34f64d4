// Package listkey makes comparable values of lists, for keys of what several callers share.
//
// A Go slice is not comparable, and a text that is formatted from it can be equal for two different
// lists: fmt prints nil and an empty list alike, and joined elements have no borders. A [Key] is
// equal for two lists if and only if these have equal elements in the same order, and nil differs
// from an empty list.
//
// Keys are interned: they take no memory of their own once the last one is collected. Making one
// takes about 100 ns for each element, comparing two takes as long as comparing two pointers.
package listkey

import "unique"

// Key identifies a list. The zero Key is that of nil.
type Key[T comparable] struct{ end unique.Handle[cell[T]] }

// cell is the last element of a list, and the list before it. The zero cell ends each list.
type cell[T comparable] struct {
	last   T
	before unique.Handle[cell[T]]
}

// Of returns the key of a list.
func Of[T comparable](list []T) Key[T] {
	return OfFunc(list, func(element T) T { return element })
}

// OfFunc returns the key of a list with comparable values of its elements.
func OfFunc[E any, T comparable](list []E, value func(E) T) Key[T] {
	if list == nil {
		return Key[T]{}
	}
	end := unique.Make(cell[T]{})
	for _, element := range list {
		end = unique.Make(cell[T]{value(element), end})
	}
	return Key[T]{end}
}
