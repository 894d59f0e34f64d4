package validate

import (
	"fmt"
	"time"
)

// Sample is what the service uses at a time.
type Sample struct {
	At    time.Time
	Bytes int // memory
	// Zero if they were not measured.
	Goroutines, Files int
	Live              int // bytes of the heap that are live
}

// Memory returns a violation if the memory of the service exceeds that of the first sample by more
// than growth bytes. callers names the lagging clients.
func Memory(callers string, samples []Sample, growth int) []Violation {
	for i, sample := range samples {
		if grown := sample.Bytes - samples[0].Bytes; grown > growth {
			return []Violation{{
				Guarantee: Bounded,
				Rule:      "memory does not grow with the lag of clients",
				Stream:    callers,
				Index:     i,
				Problem: fmt.Sprintf("memory has grown by %d MiB until %s, at most %d MiB allowed",
					grown>>20, clock(sample.At), growth>>20),
			}}
		}
	}
	return nil
}

// Handles returns a violation if the service has growth goroutines or open files more than at the
// first sample. callers names the clients that have left before each sample.
func Handles(callers string, samples []Sample, growth int) (violations []Violation) {
	for i, sample := range samples {
		for what, grown := range map[string]int{
			"goroutines": sample.Goroutines - samples[0].Goroutines,
			"open files": sample.Files - samples[0].Files,
		} {
			if grown >= growth {
				violations = append(violations, Violation{
					Guarantee: Bounded,
					Rule:      "a client that has left leaves nothing behind",
					Stream:    callers,
					Index:     i,
					Problem: fmt.Sprintf("there are %d more %s at %s than at %s, fewer than %d allowed",
						grown, what, clock(sample.At), clock(samples[0].At), growth),
				})
			}
		}
	}
	return violations
}
