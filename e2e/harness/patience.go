package harness

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

const (
	// fullCores is the number of processors from which waits are not extended.
	fullCores = 4
	// testsPerCore is the number of tests that run concurrently for each processor: a test spends
	// most of its time waiting for the control plane. At most maxTests run concurrently.
	testsPerCore = 3
	maxTests     = 8
)

// Patience returns how long a test waits before it fails, for an event that takes at most wait on
// an idle machine with enough processors. It is not a claim about speed.
//
// The result is wait times the environment variable E2E_PATIENCE. By default the factor is derived
// from the number of processors, and doubled under the race detector.
func Patience(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * patience)
}

var patience = mustPatience(os.Getenv("E2E_PATIENCE"), runtime.GOMAXPROCS(0), raceDetector)

func mustPatience(text string, cores int, race bool) float64 {
	factor, err := patienceFactor(text, cores, race)
	if err != nil {
		panic(err)
	}
	return factor
}

// patienceFactor returns the factor in text, or the default if text is empty.
func patienceFactor(text string, cores int, race bool) (float64, error) {
	if text != "" {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 0 && factor <= 1000) {
			return 0, fmt.Errorf("invalid E2E_PATIENCE %q: must be a factor greater than 0 and at most 1000, such as 2", text)
		}
		return factor, nil
	}
	factor := max(1, float64(fullCores)/float64(cores))
	if race {
		factor *= 2
	}
	return factor, nil
}

// LimitTests limits the number of tests of this binary that run concurrently, by the number of
// processors, unless the flag -parallel is given. TestMain calls it first.
func LimitTests() {
	testing.Init()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(testsAtOnce(runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
}

func testsAtOnce(cores int) int { return min(maxTests, testsPerCore*cores) }
