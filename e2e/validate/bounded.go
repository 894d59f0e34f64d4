package validate

import (
	"fmt"
	"time"
)

// Sample is how much memory the service had at a time.
type Sample struct {
	At    time.Time
	Bytes int
}

// Memory returns a violation if the service came to have more memory than it had at
// the first sample and so many bytes. Callers of the name lagged meanwhile.
func Memory(callers string, samples []Sample, growth int) []Violation {
	for i, sample := range samples {
		if grown := sample.Bytes - samples[0].Bytes; grown > growth {
			return []Violation{{
				Guarantee: Bounded,
				Rule:      "memory does not grow with the lag of callers",
				Stream:    callers,
				Index:     i,
				Problem: fmt.Sprintf("it has grown by %d MiB up to %s, and it may by %d MiB",
					grown>>20, clock(sample.At), growth>>20),
			}}
		}
	}
	return nil
}
