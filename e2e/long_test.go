package e2e_test

import (
	"os"
	"testing"
	"time"
)

// soakFor returns the duration of TestSoak_StreamsStayCorrect in SOAK, such as 10m. Without it,
// faults are few and short: long ones are only for `make soak`.
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

// longRounds is the number of times that a fault is repeated under `make soak`.
const longRounds = 4

// rounds returns the number of times that a fault is repeated.
func rounds(t *testing.T) int {
	t.Helper()
	if _, soaking := soakFor(t); soaking {
		return longRounds
	}
	return 1
}

// longFreeze is how long a component is suspended in some rounds under `make soak`.
const longFreeze = time.Minute

// soakOnly skips a test without SOAK.
func soakOnly(t *testing.T) {
	t.Helper()
	if _, soaking := soakFor(t); !soaking {
		t.Skip("set SOAK, as make soak does")
	}
}
