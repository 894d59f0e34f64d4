// Package fairqueue shares something bounded among callers, so that one caller cannot take it
// from the others.
//
// A [Queue] has a capacity, in units of the user's choice: calls, bytes, questions, processors.
// An acquisition names its caller by a key and says how much it needs. What can be held is
// limited for each key and in all. What is above a limit waits; how much may wait is limited for
// each key, and the rest is refused with [ErrFull] at once.
//
// # Order
//
// When capacity is released, the next to have it is the key that holds the least of those that
// wait and are below their limit; equals take turns. Within one key the order is first come, first
// served. So a caller with a thousand waiting acquisitions delays
// a caller with one by no more than what is held already. An acquisition that does not fit yet
// is not overtaken by smaller ones: it cannot starve.
//
// # Turns
//
// Work on a processor has no size that is known when it begins. [Begin] gives it a turn of the
// queue that [With] has put into the context, and loops call [Yield], which passes the turn on
// when others wait for it, and returns an error when the caller has left.
//
// # Concurrency
//
// A Queue is safe for concurrent use. Acquiring takes time proportional to the number of keys
// that wait. The turn in a context belongs to one goroutine at a time.
package fairqueue
