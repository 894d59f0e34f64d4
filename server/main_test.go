package server

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// waitingTests is how many tests run at the same time that wait for most of their time, whatever the processors.
const waitingTests = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", waitingTests); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
