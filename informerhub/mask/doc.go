// Package mask cuts Kubernetes objects down to some of their fields, as bytes: JSON, and
// the protobuf messages of built-in kinds.
//
// A [Path] leads to fields, a [Mask] is what some paths lead to. What is under a mask
// stays as it is, byte for byte and in its order, in what it lies in; everything else is
// left out. An object in which nothing was found is left out too, and so is a list,
// unless it is an element of a list: there an empty object, or null for what is neither
// an object nor a list, keeps the places of the others.
//
// A mask that is [Mask.KeepingParents] leaves out only what no path leads to or through.
// An expression over the mask's paths has the same value over what that keeps as over
// the whole object.
//
// What the two forms promise each other: for every object of a built-in kind, masking its
// JSON gives the same bytes as masking its message first, and then the JSON of what that
// leaves. So the direct way to the masked JSON of a large message is by way of a small
// one. The second mask is needed: the JSON of a kind has members that are always there,
// and JSON that stands in a message is kept whole as soon as a path leads into it.
//
// Everything here is immutable, and safe for concurrent use.
package mask
