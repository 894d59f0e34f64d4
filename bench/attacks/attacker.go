package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/costly"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// orderVariable is the environment variable with the order of an attacking process, as JSON.
const orderVariable = "KUBECONNECT_ATTACK"

// order is what an attacking process needs.
type order struct {
	Attack    string
	Address   string
	Tokens    map[string]string
	APIServer string
	CA        []byte
	Lasts     time.Duration
}

// outcome is what an attacker got in a part of its attack.
type outcome struct {
	Codes map[string]int
	Notes []string
	Error string
}

// attackerProcess runs an attack in a process with low priority: first its opening, then its action. It
// is owned by one goroutine.
type attackerProcess struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   *bufio.Reader
}

func startAttacker(ctx context.Context, o order) (*attackerProcess, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &attackerProcess{command: exec.CommandContext(ctx, "nice", "-n", "19", program)}
	p.command.Env = append(os.Environ(), orderVariable+"="+string(text))
	p.command.Stderr = os.Stderr
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(stdout)
	return p, p.command.Start()
}

// next makes the process do the next part of its attack, and blocks until it has.
func (p *attackerProcess) next() (o outcome, err error) {
	if _, err := io.WriteString(p.stdin, "next\n"); err != nil {
		return o, err
	}
	line, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err == nil && o.Error != "" {
		err = errors.New(o.Error)
	}
	return o, err
}

// end ends the process, with its streams.
func (p *attackerProcess) end() error {
	_ = p.stdin.Close()
	return p.command.Wait()
}

// runAttacker is the main function of an attacking process.
func runAttacker(ctx context.Context, text string) error {
	a := &attacker{}
	if err := json.Unmarshal([]byte(text), &a.order); err != nil {
		return err
	}
	a.ctx = ctx
	chosen := attackNamed(a.Attack)
	input := bufio.NewReader(os.Stdin)
	for _, part := range []func(*attacker) error{chosen.open, chosen.act} {
		if _, err := input.ReadString('\n'); err != nil {
			return nil
		}
		var err error
		if part != nil {
			err = part(a)
		}
		if err := a.report(err); err != nil {
			return err
		}
	}
	_, _ = io.Copy(io.Discard, input)
	return nil
}

// attacker makes the calls of an attack.
type attacker struct {
	order
	ctx     context.Context // of the process
	codes   callers.Tally
	notes   []string
	streams sync.WaitGroup
}

// report prints what the attacker got since the last report.
func (a *attacker) report(err error) error {
	o := outcome{Codes: a.codes.Take(), Notes: a.notes}
	if err != nil {
		o.Error = err.Error()
	}
	a.notes = nil
	return json.NewEncoder(os.Stdout).Encode(o)
}

func (a *attacker) note(format string, values ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, values...))
}

// clients returns clients of a caller, with connections of their own.
func (a *attacker) clients(caller string) harness.Clients { return dial(a.Address, a.Tokens[caller]) }

// api returns a client of the API server, as a caller.
func (a *attacker) api(caller string) (*kubernetes.Clientset, error) {
	return kubernetes.NewForConfig(&rest.Config{
		Host: a.APIServer, BearerToken: a.Tokens[caller], QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: a.CA},
	})
}

// opening is the number of streams that are opened at a time.
const opening = 16

// openTimeout bounds the time in which an attacker opens streams.
const openTimeout = 90 * time.Second

// openStreams opens streams and blocks until each has its first response, or an error. The streams are
// read until the attacker's context ends.
func (a *attacker) openStreams(caller, namespace string, count int, request costly.Request) {
	a.openUntil(time.Now().Add(openTimeout), caller, namespace, count, request)
}

// openUntil is openStreams that opens no stream after a time.
func (a *attacker) openUntil(until time.Time, caller, namespace string, count int, request costly.Request) {
	clients := a.clients(caller)
	slots := make(chan struct{}, opening)
	var began sync.WaitGroup
	for number := range count {
		if slots <- struct{}{}; time.Now().After(until) {
			break
		}
		began.Add(1)
		a.streams.Go(func() {
			var once sync.Once
			release := func() { once.Do(func() { <-slots; began.Done() }) }
			defer release()
			stream, err := request.Open(a.ctx, clients, namespace, number)
			if err != nil {
				a.result(err)
				return
			}
			defer stream.Close()
			first := true
			for stream.Receive() {
				if first {
					a.codes.Add("open")
					first = false
				}
				release()
			}
			if a.ctx.Err() == nil {
				a.result(stream.Err())
			}
		})
	}
	began.Wait()
}

// changers bounds the number of changes that are made at a time.
const changers = 16

// patchFor changes the caller's own object at a pace, at the API server, for the duration of the attack.
func (a *attacker) patchFor(caller, namespace string, pace time.Duration) error {
	api, err := a.api(caller)
	if err != nil {
		return err
	}
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	var changing errgroup.Group
	changing.SetLimit(changers)
	changes := 0
	for until := time.Now().Add(a.Lasts); time.Now().Before(until); <-ticks.C {
		patch := fmt.Appendf(nil, `{"data":{"changed":"%d"}}`, time.Now().UnixNano())
		changing.Go(func() error {
			_, err := api.CoreV1().ConfigMaps(namespace).Patch(a.ctx, costly.Object, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
		changes++
	}
	a.note("%d changes", changes)
	return changing.Wait()
}

// callTimes makes calls with a number of workers, for the duration of the attack, and at most count calls.
func (a *attacker) callTimes(caller, namespace string, workers, count int, request costly.Request) {
	clients := a.clients(caller)
	numbers := make(chan int)
	var calling sync.WaitGroup
	for range workers {
		calling.Go(func() {
			for number := range numbers {
				a.result(request.Call(a.ctx, clients, namespace, number))
			}
		})
	}
	until := time.Now().Add(a.Lasts)
	for number := 0; number < count && time.Now().Before(until); number++ {
		numbers <- number
	}
	close(numbers)
	calling.Wait()
}

// result counts the result of a call, and logs the first one with each code.
func (a *attacker) result(err error) {
	if first := a.codes.Add(callers.CodeOf(err)); first && err != nil {
		callers.Note("%s: %.300v", a.Attack, err)
	}
}
