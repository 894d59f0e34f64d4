// Package diff says in a patch what leads from one state of an object to the next, as
// bytes: in a JSON merge patch (RFC 7386), which has the form of the object, or in a JSON
// patch (RFC 6902), which reaches into lists.
//
// What holds for both: the texts must be valid JSON; what is not, is either refused or
// differs from the patched text in no more than what it is itself. They are only read, in
// time that grows with their length. There is no patch, and what it was to be appended to
// is as it was, if it would have more than half of the bytes of the state after; or if one
// of the texts is no object, has a name twice in an object where that matters, a number
// beyond a float64, more than 100 objects and lists in each other, or more than 65,536
// members.
package diff
