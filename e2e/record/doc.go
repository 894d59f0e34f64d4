// Package record runs a watch and records every message, so that a test can wait for what it
// expects and validate the complete stream afterwards. A PageStream and a PageFollower do the same for
// pages of a sorted selection, and a CountsFollower for counts.
//
// Nothing here sleeps: a wait ends when its condition holds, when the stream ends, or when the
// context is done. At the end of the test every stream is checked by the validate package, whatever
// the test was about.
package record
