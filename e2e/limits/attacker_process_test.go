package limits_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// attackVariable is the environment variable with the attackOrder of an attacking process, as JSON.
const attackVariable = "KUBECONNECT_E2E_ATTACK"

// attackOrder describes what an attacking process does, and with which credential.
type attackOrder struct{ Attack, Address, Namespace, Token string }

// attackerProcess makes the calls of an attack in a process with low priority, as if the attacker
// had a machine of its own: the cost of its clients must not count as time that the service makes a
// good caller wait.
type attackerProcess struct {
	t     *testing.T
	stdin io.WriteCloser
	lines *bufio.Reader
	wait  func() error
	codes map[string]int // set when the process has ended
}

// startAttack starts an attacking process and blocks until it is ready.
func startAttack(ctx context.Context, t *testing.T, order attackOrder) *attackerProcess {
	t.Helper()
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, "nice", "-n", "19", os.Args[0], "-test.run=^TestAttacker_RunsInItsOwnProcess$")
	command.Env = append(os.Environ(), attackVariable+"="+string(text))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &attackerProcess{t: t, stdin: stdin, lines: bufio.NewReader(stdout), wait: command.Wait}
	p.readLine(nil)
	return p
}

// attack attacks until ctx ends.
func (p *attackerProcess) attack(ctx context.Context) {
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		p.t.Error(err)
	}
	<-ctx.Done()
	_ = p.stdin.Close()
	p.readLine(&p.codes)
	rest, _ := io.ReadAll(p.lines)
	if err := p.wait(); err != nil {
		p.t.Errorf("attacker: %v\n%s", err, rest)
	}
}

// readLine reads the next line of the process, and decodes it into into unless that is nil.
func (p *attackerProcess) readLine(into any) {
	p.t.Helper()
	line, err := p.lines.ReadBytes('\n')
	if err == nil && into != nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		p.t.Errorf("the attacker printed %q: %v", line, err)
	}
}

// TestAttacker_RunsInItsOwnProcess is not a test, but the process that startAttack starts. It
// attacks from the first line to the end of its input, and at least until a call has returned, and
// prints the results of its calls.
func TestAttacker_RunsInItsOwnProcess(t *testing.T) {
	text := os.Getenv(attackVariable)
	if text == "" {
		t.Skip("the attacking process of TestNoisyNeighbor_OtherCallersSeeLittleDelay")
	}
	var order attackOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		t.Fatal(err)
	}
	a := newAttackerAt(t, order)
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		t.Fatal(err)
	}
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, input)
		select {
		case <-a.answered: // soon: the process has a low priority
		case <-time.After(kit.WaitTimeout):
		}
	}()
	a.run(ctx, attacks[order.Attack])
	if err := json.NewEncoder(os.Stdout).Encode(a.codes); err != nil {
		t.Fatal(err)
	}
}

// newAttackerAt returns an attacker that is ready to call.
func newAttackerAt(t *testing.T, order attackOrder) *attacker {
	t.Helper()
	httpClient := harness.HTTP2From(t, floodAddress)
	httpClient.Transport = kit.HeaderTransport{Headers: http.Header{"Authorization": {"Bearer " + order.Token}}, Base: httpClient.Transport}
	return &attacker{
		clients:   harness.Dial(httpClient, order.Address, harness.Connect),
		namespace: order.Namespace,
		codes:     map[string]int{},
		answered:  make(chan struct{}),
	}
}
