// Package loglines reads the logs of many containers as one sequence of lines. It knows neither
// RPCs nor callers: [Run] takes pods, opens their logs with an [Opener], and sends batches.
//
// # Order
//
// The lines of one container are in the order of its log. The lines that exist when Run begins are
// in the order of time across all containers, as far as the times of each container ascend: each
// existing log is read to its end without following it, and Run sends the oldest of the next lines.
// Later lines are sent as they arrive. Those that arrive within 50 ms are sorted by time.
//
// # Runs
//
// A container that restarts has a log for each run, of which a node keeps the current and the
// previous one. A log is followed until it ends, and read again after its last line until the pod's
// status shows that the run has ended: the API server does not report that its connection to a node
// was cut. The next run is then read from its first line. If a container has restarted in between,
// the rest of the previous run is read first. This is noticed although the pod's status does not
// show the restart yet, because the log of the new run does not contain the last line. One limit: if
// no line of a run has been read before its connection is cut, such a restart is not noticed, and
// the lines of that run are lost.
//
// # Positions
//
// A line's [Position] is its time and its ordinal among the container's lines with that time. A log
// is always opened at a whole second, so the ordinals of a second are the same each time. After an
// interruption the log is opened at the second of the last line, and lines up to that are skipped.
//
// # Memory
//
// Each open log has a buffer of at most one line, which is small while the log is silent, the
// lines of one read, and at most 256 KiB of lines that precede a match. The number of logs that
// all streams have open is bounded by [Options].Acquire. Nothing is read while a batch is being
// sent, except what fills these buffers.
package loglines
