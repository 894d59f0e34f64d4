package harness

import "testing"

// Cleanup is t.Cleanup for functions that refer to much memory, such as a recording: the function
// is released when it has run. Package testing retains the functions of a parallel test until the
// last test of the program has ended.
func Cleanup(t testing.TB, cleanup func()) {
	t.Helper()
	t.Cleanup(func() {
		run := cleanup
		cleanup = nil
		run()
	})
}
