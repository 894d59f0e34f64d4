package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// Components for tests of process: this test binary, started again.
const (
	obedient = "obedient" // runs until it receives a signal
	failing  = "failing"  // prints a line and fails
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case obedient:
			runObedient()
			return
		case failing:
			fmt.Println("the last line")
			os.Exit(3)
		}
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

func runObedient() {
	go endWithParent()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	<-terminated
}

// newDir returns the directory of a cluster for one test.
func newDir(t *testing.T) layout {
	t.Helper()
	dir := layout(t.TempDir())
	if err := dir.make(); err != nil {
		t.Fatal(err)
	}
	return dir
}
