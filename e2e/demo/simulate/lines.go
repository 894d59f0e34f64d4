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
	// minLines is the number of lines of a container that ends at once.
	minLines = 6
)

// line is a line of a log.
type line struct {
	at     time.Time
	stream string // Stdout or Stderr
	text   string
}

// line returns the line of a container with an index. The result depends on nothing else, so that
// each reader sees the same log.
func (o output) line(start time.Time, index int) line {
	random := rand.New(rand.NewPCG(o.key, uint64(index)))
	late := time.Duration(random.Int64N(int64(linePeriod)))
	at := start.Add(time.Duration(index)*linePeriod + late)
	message := o.format.messages[random.IntN(len(o.format.messages))]
	if random.IntN(9) == 0 {
		message = o.format.troubles[random.IntN(len(o.format.troubles))]
	}
	return line{at, "Stdout", o.format.text(at, message, random) + "\n"}
}

// writeBefore writes the lines of a run before a time, and returns the index of the next one.
func (o output) writeBefore(log *kubelet.Log, current run, now time.Time) int {
	if !current.end.IsZero() {
		o.writeAll(log, current)
		return 0
	}
	index := max(0, int(now.Sub(current.start)/linePeriod)-maxLines)
	for ; ; index++ {
		line := o.line(current.start, index)
		if line.at.After(now) {
			return index
		}
		log.WriteAt(line.at, line.stream, line.text)
	}
}

// writeAll writes all lines of a run that has ended.
func (o output) writeAll(log *kubelet.Log, ended run) {
	index := max(0, int(ended.end.Sub(ended.start)/linePeriod)-maxLines)
	for ; ; index++ {
		line := o.line(ended.start, index)
		if line.at.After(ended.end) && index >= minLines {
			break
		}
		if line.at.After(ended.end) {
			line.at = ended.end
		}
		log.WriteAt(line.at, line.stream, line.text)
	}
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
