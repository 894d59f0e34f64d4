// Package sorted has the order of lists, and sets of objects that stay sorted while the objects
// change.
//
// An [Order] is parsed from ListRequest.order_by. Objects are compared by its paths, and objects with
// equal values by namespace and name, so that the order is total. Long strings are compared by their first
// 1,024 bytes, so that keys take little memory, and a comparison little time.
//
// [Objects] is the state of a follower (package follow): the objects of a selection, sorted. A
// change, a range and the place of an object cost O(log n) comparisons, except for the objects of the
// range themselves. It is changed by one goroutine at a time, and read by any number of goroutines
// while it is not changed.
package sorted
