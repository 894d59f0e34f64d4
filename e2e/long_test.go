package e2e_test

import (
	"os"
	"testing"
	"time"
)

// soakFor is how long TestSoak goes on, as SOAK says, such as 10m. Without it, faults
// are few and short: long ones are for `make soak` alone.
func soakFor(t *testing.T) (lasts time.Duration, soaking bool) {
	t.Helper()
	if os.Getenv("SOAK") == "" {
		return 0, false
	}
	lasts, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Fatal(err)
	}
	return lasts, true
}

// longRounds is how often a fault comes back under `make soak`.
const longRounds = 4

// rounds is how often a fault strikes.
func rounds(t *testing.T) int {
	t.Helper()
	if _, soaking := soakFor(t); soaking {
		return longRounds
	}
	return 1
}

// longFreeze is how long a component stands still now and then under `make soak`.
const longFreeze = time.Minute
