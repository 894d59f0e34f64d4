package validate

import (
	"fmt"
	"time"
)

// Sample is the memory of the service at a time.
type Sample struct {
	At    time.Time
	Bytes int
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
