package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// drill is a fault, which lasts until its function returns.
type drill struct {
	name  string
	fault func(*lab, context.Context) error
}

// drills are all drills, in the order of the table.
var drills = []drill{
	{"nothing fails, for 15 s", func(_ *lab, ctx context.Context) error { callers.Wait(ctx, 15*time.Second); return nil }},
	{"the three replicas are replaced", (*lab).replaceAll},
	{"kill -9 of a replica", (*lab).kill},
	{"SIGSTOP of a replica for 30 s", (*lab).freeze},
	{"the API server away for 60 s", during(away, time.Minute)},
	{"reviews are answered with 500 for 60 s", during(failingReviews, time.Minute)},
	{"reviews are 4 s slower for 15 s", during(slowReviews, 15*time.Second)},
	{"the service's token is rejected for 45 s", during(rejectedToken, 45*time.Second)},
	{"API server and etcd are lost by one replica after the other, and restart", (*lab).restartControlPlane},
}

// during returns a fault of the proxy between the service and the API server.
func during(f fault, lasts time.Duration) func(*lab, context.Context) error {
	return func(l *lab, ctx context.Context) error {
		l.upstream.set(f)
		defer l.upstream.set(noFault)
		callers.Wait(ctx, lasts)
		return nil
	}
}

// replaceAll replaces one replica after the other, as a rollout does.
func (l *lab) replaceAll(ctx context.Context) error {
	for range replicaCount {
		if err := l.addReplica(ctx); err != nil {
			return err
		}
		old := l.takeReplica()
		callers.Wait(ctx, drainTime)
		if err := old.Stop(); err != nil {
			return fmt.Errorf("a replica exited: %w", err)
		}
	}
	return nil
}

// takeReplica removes the oldest replica from the balancer.
func (l *lab) takeReplica() *callers.Service {
	replica := l.replicas[0]
	l.replicas = l.replicas[1:]
	l.balancer.RemoveTarget(hostPort(replica))
	return replica
}

// kill ends a replica without a shutdown, and starts another one.
func (l *lab) kill(ctx context.Context) error {
	l.replicas[0].Crash()
	callers.Wait(ctx, endpointDelay)
	l.takeReplica()
	return l.addReplica(ctx)
}

// freeze suspends a replica. The balancer sends it no connections when its probes have failed.
func (l *lab) freeze(ctx context.Context) error {
	replica := l.replicas[0]
	if err := replica.Freeze(); err != nil {
		return err
	}
	callers.Wait(ctx, probeTime)
	l.takeReplica()
	callers.Wait(ctx, 30*time.Second-probeTime)
	l.replicas = append(l.replicas, replica)
	l.balancer.AddTarget(hostPort(replica))
	return replica.Thaw()
}

// restartControlPlane takes the API server from the replicas, one connection after the other, so that they
// have received different numbers of changes. Then the API server and etcd are killed and start with the
// same data, and the replicas reach an API server that has no history.
func (l *lab) restartControlPlane(ctx context.Context) error {
	l.upstream.set(leaving)
	defer l.upstream.set(noFault)
	callers.Wait(ctx, 8*time.Second)
	for _, component := range []harness.Component{l.cluster.APIServer(), l.cluster.Etcd()} {
		if err := component.Kill(); err != nil {
			return err
		}
	}
	if err := l.cluster.Offline(func(string) error { callers.Wait(ctx, 10*time.Second); return nil }); err != nil {
		return err
	}
	callers.Wait(ctx, 10*time.Second)
	return nil
}

const (
	// settling is the time before a drill in which objects change and callers call.
	settling = 10 * time.Second
	// afterwards is the time after a fault in which reviews are counted and streams become current.
	afterwards = 30 * time.Second
	// equalTimeout bounds the time until all streams have the objects of the API server, when these do
	// not change any more.
	equalTimeout = 30 * time.Second
)

const heading = `| Drill | Lasts s | Silent s | Not current s: Go | Python | TypeScript | Current after its end s | Streams lost | RESETs | Calls failed | Reviews meanwhile | in 30 s after | Streams that differ |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// measure runs the drills and prints a table.
func (l *lab) measure(ctx context.Context, to io.Writer) error {
	streaming, stop := context.WithCancel(ctx)
	f, closed, err := l.openFleet(streaming)
	defer closed()
	defer stop()
	if err != nil {
		return err
	}
	if differ, err := l.differing(ctx, f, time.Minute); err != nil || differ > 0 {
		return fmt.Errorf("%d streams have no snapshot: %w", differ, err)
	}
	text := heading
	for _, d := range drills {
		if !callers.Selects(l.only, d.name) {
			continue
		}
		callers.Note("%s", d.name)
		o, err := l.run(ctx, f, d)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		row := o.row(d.name)
		callers.Note("%s", row)
		text += row
	}
	_, err = io.WriteString(to, text)
	return err
}

// outcome is what was measured in a drill.
type outcome struct {
	lasted              time.Duration // of the fault
	meanwhile, after    reviews
	streams             []stream
	lost, ended, resets map[string]int // by error and by cause
	results             map[string]int // of calls
	differing           int
}

// run runs a drill while objects change and callers call.
func (l *lab) run(ctx context.Context, f *fleet, d drill) (o outcome, err error) {
	stopWriting := l.startWriting(ctx)
	stopCalling, results := l.startCalling(ctx)
	defer stopWriting()
	defer stopCalling()
	callers.Wait(ctx, settling)

	f.begin()
	results.Take()
	began, before := time.Now(), l.upstream.counted()
	if err := d.fault(l, ctx); err != nil {
		return o, err
	}
	f.endFault()
	o.lasted = time.Since(began)
	ended := l.upstream.counted()
	callers.Wait(ctx, afterwards)
	o.meanwhile, o.after = ended.minus(before), l.upstream.counted().minus(ended)
	o.streams = f.observed()
	o.lost, o.ended, o.resets, o.results = f.losses.Take(), f.ends.Take(), f.resets.Take(), results.Take()

	stopWriting()
	o.differing, err = l.differing(ctx, f, equalTimeout)
	return o, err
}

func (o outcome) row(name string) string {
	columns := []string{name, seconds(o.lasted), spread(o.streams, func(s stream) time.Duration { return s.longSilent })}
	for language := range languages {
		of := slices.DeleteFunc(slices.Clone(o.streams), func(s stream) bool { return s.language != language })
		columns = append(columns, spread(of, func(s stream) time.Duration { return s.longStale }))
	}
	recovered := slices.DeleteFunc(slices.Clone(o.streams), func(s stream) bool { return s.recovered == 0 })
	recovery := spread(recovered, func(s stream) time.Duration { return s.recovered })
	if never := len(o.streams) - len(recovered); never > 0 {
		recovery += fmt.Sprintf(", %d not within %.0f s", never, afterwards.Seconds())
	}
	lost := []string{cmp.Or(callers.Text(o.lost), "0")}
	if len(o.ended) > 0 {
		lost = append(lost, "ended: "+callers.Text(o.ended))
	}
	all := 0
	for _, count := range o.results {
		all += count
	}
	failed := fmt.Sprintf("%d of %d", all-o.results["ok"], all)
	if delete(o.results, "ok"); len(o.results) > 0 {
		failed += ": " + callers.Text(o.results)
	}
	columns = append(columns, recovery, strings.Join(lost, "; "), cmp.Or(callers.Text(o.resets), "0"), failed,
		o.meanwhile.String(), o.after.String(), fmt.Sprintf("%d of %d", o.differing, len(o.streams)))
	return "| " + strings.Join(columns, " | ") + " |\n"
}

// noticed is a time that is longer than usual: see writePace.
const noticed = 2 * writePace

// spread returns the p50, p99 and maximum of a time of the streams, and how many of them are longer than
// usual.
func spread(streams []stream, of func(stream) time.Duration) string {
	if len(streams) == 0 {
		return "–"
	}
	var times []time.Duration
	for _, s := range streams {
		times = append(times, of(s))
	}
	slices.Sort(times)
	at := func(percent int) string { return seconds(times[min(len(times)-1, len(times)*percent/100)]) }
	text := at(50) + " / " + at(99) + " / " + at(100)
	if first, _ := slices.BinarySearch(times, noticed); first < len(times) {
		text += fmt.Sprintf(" (%d)", len(times)-first)
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
