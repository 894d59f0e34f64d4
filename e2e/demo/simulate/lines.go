package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

const (
	// linePeriod is the average time between two lines of a container.
	linePeriod = 700 * time.Millisecond
	// maxLines bounds what is computed for one reader: older lines are gone, as after a rotation.
	maxLines = 2000
	// minLines is the least number of lines of a container that has ended.
	minLines = 6
	// minPeriod is the time between two lines of a container that ends at once.
	minPeriod = time.Millisecond
	// troubleEvery is the average number of lines from a warning or an error to the next.
	troubleEvery = 9
)

// line is a line of a log.
type line struct {
	at     time.Time
	stream string // Stdout or Stderr
	text   string
}

// period returns the average time between two lines of a run: shorter than linePeriod if the run was
// too short for minLines.
func (r run) period() time.Duration {
	if r.end.IsZero() {
		return linePeriod
	}
	return max(minPeriod, min(linePeriod, r.end.Sub(r.start)/minLines))
}

// line returns the line of a run with an index. The result depends on nothing else, so that each
// reader sees the same log.
func (o output) line(of run, index int) line {
	random := rand.New(rand.NewPCG(o.key, uint64(index)))
	period := of.period()
	at := of.start.Add(time.Duration(index)*period + time.Duration(random.Int64N(int64(period))))
	message := o.format.messages[random.IntN(len(o.format.messages))]
	if random.IntN(troubleEvery) == 0 {
		message = o.format.troubles[random.IntN(len(o.format.troubles))]
	}
	return line{at, "Stdout", o.format.text(at, message, random) + "\n"}
}

// writeBefore writes the lines of a run before a time, and returns the index of the next one.
func (o output) writeBefore(log *kubelet.Log, of run, now time.Time) int {
	index := max(0, int(now.Sub(of.start)/of.period())-maxLines)
	for ; ; index++ {
		line := o.line(of, index)
		if line.at.After(now) {
			return index
		}
		log.WriteAt(line.at, line.stream, line.text)
	}
}

// writeAll writes all lines of a run that has ended.
func (o output) writeAll(log *kubelet.Log, ended run) {
	o.writeBefore(log, ended, ended.start.Add(max(ended.end.Sub(ended.start), minLines*minPeriod)))
	o.writeLast(log, ended)
}

// writeLast writes what a container writes when it ends.
func (o output) writeLast(log *kubelet.Log, ended run) {
	if ended.reason != "Error" {
		return // it is complete, or was killed
	}
	random := rand.New(rand.NewPCG(o.key, 0))
	log.WriteAt(ended.end, "Stderr", o.format.text(ended.end, o.format.fatal, random)+"\n")
	for _, text := range stackTrace {
		log.WriteAt(ended.end, "Stderr", text+"\n")
	}
}

var stackTrace = []string{
	"panic: migrations: table entries has version 41, want 42",
	"",
	"goroutine 1 [running]:",
	"main.mustMigrate(0xc000190000)",
	"\t/src/cmd/ledger/migrate.go:58 +0x1d4",
	"main.main()",
	"\t/src/cmd/ledger/main.go:31 +0x8c",
	"exit status 2",
}
