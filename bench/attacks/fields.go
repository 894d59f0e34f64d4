package main

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/costly"
)

const (
	// fieldStreams is the number of streams of a field, and fieldCalls the number of calls.
	fieldStreams, fieldCalls = 60, 20
	// fieldChanges is the number of changes of the object that the streams match.
	fieldChanges = 5
	// fieldTimeout bounds the opening of the streams, and the calls.
	fieldTimeout = 40 * time.Second
	// quietTime is the time after which a service without requests has used its memory as it will.
	quietTime = 1500 * time.Millisecond
)

// eager makes the service collect garbage often, so that its memory is what it keeps.
const eager = "GOGC=10"

// measureFields prints what the service keeps and computes for each field of each RPC.
func (l *lab) measureFields(ctx context.Context, to io.Writer) error {
	text := "| Stream | Opened | Codes | CPU ms to open | KiB kept | CPU ms for each change and stream |\n|---|---|---|---|---|---|\n"
	for _, request := range costly.Streams() {
		if !callers.Selects(l.only, request.Name) {
			continue
		}
		got, err := l.measureStream(ctx, request)
		if err != nil {
			return fmt.Errorf("%s: %w", request.Name, err)
		}
		line := got.row(request.Name)
		callers.Note("%s", line)
		text += line
	}
	text += "\n| Call | Codes of a caller with permissions | CPU ms of it | Codes without permissions | CPU ms |\n|---|---|---|---|---|\n"
	for _, request := range costly.Calls() {
		if !callers.Selects(l.only, request.Name) {
			continue
		}
		line, err := l.measureCall(ctx, request)
		if err != nil {
			return fmt.Errorf("%s: %w", request.Name, err)
		}
		callers.Note("%s", line)
		text += line
	}
	_, err := io.WriteString(to, text)
	return err
}

// fieldCost is what streams of one field cost, in total.
type fieldCost struct {
	open     int
	codes    map[string]int
	opening  time.Duration // CPU time
	kept     int64         // bytes
	changing time.Duration // CPU time
}

func (c fieldCost) row(name string) string {
	count, all := float64(max(c.open, 1)), 0
	for _, n := range c.codes {
		all += n
	}
	return fmt.Sprintf("| %s | %d | %s | %.1f | %.0f | %.2f |\n", name, c.open, callers.Text(c.codes), inMilliseconds(c.opening)/float64(max(all, 1)),
		float64(c.kept)/1024/count, inMilliseconds(c.changing)/count/fieldChanges)
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (l *lab) measureStream(ctx context.Context, request costly.Request) (c fieldCost, err error) {
	s, err := l.start(ctx, eager)
	if err != nil {
		return c, err
	}
	defer func() { _ = s.Stop() }()
	streams, leave := context.WithCancel(ctx)
	defer leave()
	a := l.attackerAt(streams, s)
	a.openStreams("evil", evilNamespace, 2, stream("Watch.resource")) // fills the cache
	a.codes.Take()
	callers.Wait(ctx, quietTime)
	before, err := usageOf(s.PID())
	if err != nil {
		return c, err
	}
	a.openUntil(time.Now().Add(fieldTimeout), "evil", evilNamespace, fieldStreams, request)
	c.codes = a.codes.Take()
	c.open = c.codes["open"]
	callers.Wait(ctx, quietTime)
	opened, err := usageOf(s.PID())
	if err != nil {
		return c, err
	}
	c.opening, c.kept = opened.cpu-before.cpu, opened.rss-before.rss
	if err := l.change(ctx); err != nil {
		return c, err
	}
	callers.Wait(ctx, quietTime)
	changed, err := usageOf(s.PID())
	c.changing = changed.cpu - opened.cpu
	return c, err
}

// change changes the object that the streams match.
func (l *lab) change(ctx context.Context) error {
	for range fieldChanges {
		patch := fmt.Appendf(nil, `{"data":{"changed":"%d"}}`, time.Now().UnixNano())
		_, err := l.cluster.Client.CoreV1().ConfigMaps(evilNamespace).Patch(ctx, costly.Object, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		callers.Wait(ctx, 300*time.Millisecond)
	}
	return nil
}

// attackerAt returns an attacker in this process.
func (l *lab) attackerAt(ctx context.Context, s *callers.Service) *attacker {
	return &attacker{ctx: ctx, order: order{Address: s.Address, Tokens: l.tokens, Lasts: fieldTimeout}}
}

func (l *lab) measureCall(ctx context.Context, request costly.Request) (string, error) {
	s, err := l.start(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Stop() }()
	line := "| " + request.Name
	for _, caller := range []string{"evil", "nobody"} {
		a := l.attackerAt(ctx, s)
		a.callTimes(caller, evilNamespace, 1, 1, call("List.resource"))
		a.codes.Take()
		before, err := usageOf(s.PID())
		if err != nil {
			return "", err
		}
		a.callTimes(caller, evilNamespace, 1, fieldCalls, request)
		after, err := usageOf(s.PID())
		if err != nil {
			return "", err
		}
		codes, count := a.codes.Take(), 0
		for _, n := range codes {
			count += n
		}
		line += fmt.Sprintf(" | %s | %.1f", callers.Text(codes), inMilliseconds(after.cpu-before.cpu)/float64(max(count, 1)))
	}
	return line + " |\n", nil
}
