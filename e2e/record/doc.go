// Package record runs a watch and keeps everything that it says, so that a test
// can wait for what it expects and judge the whole afterwards.
//
// Nothing here sleeps: a wait ends when the stream has said enough, when the
// stream ends, or when the context does. At the end of the test every stream is
// checked by the validate package, whatever the test was about.
package record
