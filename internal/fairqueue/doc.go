// Package fairqueue shares a bounded capacity among callers, so that no caller can use up the part
// of the others.
//
// A [Queue] has a capacity, in units of the user's choice: calls, bytes, questions, processors. An
// acquisition names its caller by a key, and the weight that it needs. The weight that can be held
// is limited for each key and in all. Acquisitions above a limit wait. The number of waiting
// acquisitions is limited for each key; further ones are rejected with [ErrFull] at once.
//
// # Order
//
// When capacity is released, the next key is the one that has used the least of it, among the keys that wait and are
// below their limit: what a key has held, for how long, in the last minute or so. So a key that holds its part for long
// comes behind the others as often as they need something. Of keys that have used the same, the one comes first that
// holds the least, and of those that hold nothing the one whose last acquisition is longer ago. Within one key the order
// is first come, first served. A caller with a thousand waiting acquisitions delays a caller with one acquisition only by
// the capacity that is held already. An acquisition that does not fit yet is not overtaken by smaller ones of keys that
// have used as much, so it cannot starve. There is one exception: a key that holds little, with what it acquires, does
// not wait behind larger acquisitions as long as a reserve of a sixteenth of the capacity lasts, which larger
// acquisitions cannot have.
//
// # Slots
//
// The duration of work on a processor is unknown when it begins. [Begin] acquires a slot of the
// queue that [With] has put into the context. Loops call [Yield], which passes the slot to others
// that wait for it, and returns an error when the context is done. Work for several keys
// ([WithPayers]) waits in the queues of all of them, and the key that gets a slot first pays for it.
//
// # Concurrency
//
// A Queue is safe for concurrent use. Acquiring takes time proportional to the number of keys that
// wait. The slot in a context belongs to one goroutine at a time.
package fairqueue
