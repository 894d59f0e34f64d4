//go:build !race

package harness

// raceDetector reports whether the tests were built with the race detector.
const raceDetector = false
