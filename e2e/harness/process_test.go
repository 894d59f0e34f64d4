package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// playsParent makes this test binary act as a program that starts another one and is then killed.
const playsParent = "KUBECONNECT_HARNESS_PLAYS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(playsParent) != "" {
		playParent()
	}
	goleak.VerifyTestMain(m)
}

func TestProcess_FindsLinesBeforeAndAfterTheyArePrinted(t *testing.T) {
	process := start(t, "echo first; read -r _ < /dev/null; echo second; exec sleep 600")
	for _, want := range []string{"second", "first"} {
		line, err := process.UntilPrints(deadline(t), func(line string) bool { return line == want })
		if err != nil || line != want {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
}

func TestProcess_EarlyEndReturnsItsOutput(t *testing.T) {
	process := start(t, "echo 'it does not work' >&2; exit 3")
	_, err := process.UntilPrints(deadline(t), func(line string) bool { return line == "ready" })
	if err == nil || !strings.Contains(err.Error(), "it does not work") {
		t.Errorf("error %v, want the output of the process in it", err)
	}
	var exit *exec.ExitError
	if err := process.Wait(deadline(t)); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the process ended with %v, want exit code 3", err)
	}
}

func TestProcess_StopTerminatesGracefully(t *testing.T) {
	process := start(t, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done")
	if _, err := process.UntilPrints(deadline(t), func(line string) bool { return line == "ready" }); err != nil {
		t.Fatal(err)
	}
	if err := process.Stop(); err != nil {
		t.Errorf("the process ended with %v, want success", err)
	}
}

func TestProcess_EndsWhenItsParentIsKilled(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), playsParent+"=yes")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	untilGone(t, child)
}

func playParent() {
	process, err := Start("/bin/sh", "-c", "exec sleep 600")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(process.PID())
	<-process.Ended()
	os.Exit(1)
}

func untilGone(t *testing.T, pid int) {
	t.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for ctx := deadline(t); ; {
		if isGone(pid) {
			return
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			t.Fatalf("process %d is still running", pid)
		}
	}
}

// isGone reports whether a process has ended. A zombie counts as ended.
func isGone(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return true
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	process, err := Start("/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Stop() })
	return process
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience(30*time.Second))
	t.Cleanup(cancel)
	return ctx
}
