// Package mask reduces Kubernetes objects to some of their fields, as bytes: JSON, and the protobuf
// messages of built-in kinds.
//
// A [Path] selects fields, and a [Mask] is a set of paths. A selected field is kept byte for byte,
// in its order and in the objects and lists that contain it. Everything else is left out. An object
// or list in which nothing was found is left out too, unless it is an element of a list. In a list,
// an empty object, or null for an element that is neither an object nor a list, keeps the positions
// of the other elements.
//
// A mask that is [Mask.KeepingParents] leaves out only values that no path leads to or through. An
// expression over the mask's paths has the same value for the masked object as for the whole
// object.
//
// The two forms are consistent: for every object of a built-in kind, masking its JSON gives the
// same bytes as masking its message, converting the result to JSON, and masking that. So the fast
// way to the masked JSON of a large message goes through a small message. The second masking is
// needed, because the JSON of a kind has members that are always present, and because JSON within a
// message is kept whole if a path leads into it.
//
// All values of this package are immutable, and safe for concurrent use.
package mask
