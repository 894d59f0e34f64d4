// Package tally computes aggregates of the values of objects: their sum, average, minimum and
// maximum. See Aggregate in read.proto.
//
// A [Summary] has the aggregates of some values. A [Tally] has those of any number of objects, whose
// summaries are added and removed at any time:
//
//	var cpu tally.Summary
//	for _, value := range values { // of one object
//		cpu.Add(value)
//	}
//	node.Add(cpu)    // the object was created
//	node.Remove(cpu) // the object was deleted
//	node.Summary().Result(tally.Sum)
//
// Sums are exact, so that after any sequence of changes they are those of the remaining objects. To
// add or remove an object costs O(log n) for n different values, and O(1) without minimum and
// maximum. A Tally without minimum and maximum has the same size for any number of objects.
//
// A Tally is not safe for concurrent use. A Summary is a value.
package tally
