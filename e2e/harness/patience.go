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
	// fullCores is the number of processors from which on waits are not extended.
	fullCores = 4
	// testsPerCore is how many tests run at a time for each processor: most of a test's time
	// is waiting for the control plane. More than maxTests wait for each other.
	testsPerCore = 3
	maxTests     = 8
)

// Patience returns how long a test waits for something that takes so long at most on an
// idle machine with enough processors, before the test gives up. It is no claim about speed.
//
// The environment variable E2E_PATIENCE is the factor between the two. By default it is
// derived from the number of processors, and doubled under the race detector.
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

// patienceFactor returns the factor that a text gives, or the default if it is empty.
func patienceFactor(text string, cores int, race bool) (float64, error) {
	if text != "" {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 0 && factor <= 1000) {
			return 0, fmt.Errorf("E2E_PATIENCE is %q: give a factor such as 2, at most 1000", text)
		}
		return factor, nil
	}
	factor := max(1, float64(fullCores)/float64(cores))
	if race {
		factor *= 2
	}
	return factor, nil
}

// LimitTests limits how many tests of this binary run at a time by the number of
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
