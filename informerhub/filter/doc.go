// Package filter evaluates CEL expressions of callers for Kubernetes objects.
//
// An expression has one variable, object, with the structure of the object's JSON. It can use what
// an expression of a ValidatingAdmissionPolicy can use, except the authorizer: Kubernetes' own
// libraries, and integers of JSON as int.
//
// Every caller can write an expression, so expressions are not trusted. Compilation is bounded by
// the size of an expression, by the depth and the number of its parts, and by the size of the
// automata of its regular expressions. Evaluation is bounded by its cost, for each object and, with
// a [Budget], for many objects. cel-go counts the cost of a call only after the call. So this
// package estimates the cost of calls whose cost grows with their arguments before they are
// executed.
package filter
