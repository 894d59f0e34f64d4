package kit

import (
	"os"
	"testing"
	"time"
)

// SoakFor returns the duration of TestSoak_StreamsStayCorrect in SOAK, such as 10m. Without it,
// faults are few and short: long ones are only for `make soak`.
func SoakFor(t *testing.T) (lasts time.Duration, soaking bool) {
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

// Rounds returns the number of times that a fault is repeated.
func Rounds(t *testing.T) int {
	t.Helper()
	if _, soaking := SoakFor(t); soaking {
		return longRounds
	}
	return 1
}

// LongFreeze is how long a component is suspended in some rounds under `make soak`.
const LongFreeze = time.Minute

// SoakOnly skips a test without SOAK.
func SoakOnly(t *testing.T) {
	t.Helper()
	if _, soaking := SoakFor(t); !soaking {
		t.Skip("set SOAK, as make soak does")
	}
}
