// Package filter holds Kubernetes objects against CEL expressions that callers write.
//
// An expression is about one variable, object, which is as in the object's JSON. It has
// what an expression of a ValidatingAdmissionPolicy has, the authorizer aside:
// Kubernetes' own libraries, and whole numbers of JSON as int.
//
// Whoever may call may write an expression, so nothing about one is trusted. Compiling
// is bounded by its size, by the depth and the number of its parts, and by the size of
// the automata of its regular expressions. Evaluating is bounded by its cost, for each
// object and, by a [Budget], for many. cel-go counts what a call has cost when it is
// over; calls whose cost grows with their arguments are weighed here before they are
// made.
package filter
