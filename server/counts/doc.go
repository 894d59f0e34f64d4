// Package counts counts objects by the values of their fields, and computes aggregates of values in
// each group. See CountRequest in read.proto.
//
// A [Plan] is what is counted. A [Counter] counts the objects of one snapshot. A [State] keeps the
// counts true while the objects change, and knows which groups have changed since a generation; it
// is a state of package follow.
//
// The cost of a change depends on the groups of the object that has changed, and not on the number
// of groups. A change that does not touch the values costs only the comparison of the two objects.
//
// Neither is safe for concurrent use, except that any number of goroutines can read a State while
// none changes it.
package counts
