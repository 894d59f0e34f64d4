package kubejson

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// The tags of metav1.Timestamp.
const (
	secondsTag = 1<<3 | protoscan.Varint
	nanosTag   = 2<<3 | protoscan.Varint
)

// time writes a metav1.Time.
func (w *writer) time(content []byte) bool {
	at, ok := readTime(content)
	w.formatTime(at, time.RFC3339)
	return ok
}

// microTime writes a metav1.MicroTime.
func (w *writer) microTime(content []byte) bool {
	seconds, nanos, ok := readTimestamp(content)
	var at time.Time
	if len(content) > 0 {
		at = time.Unix(seconds, int64(time.Duration(nanos).Truncate(time.Microsecond)))
	}
	w.formatTime(at, metav1.RFC3339Micro)
	return ok
}

func (w *writer) formatTime(at time.Time, layout string) {
	if at.IsZero() {
		w.out = append(w.out, "null"...)
		return
	}
	w.out = append(w.out, '"')
	w.out = at.UTC().AppendFormat(w.out, layout)
	w.out = append(w.out, '"')
}

// readTime reads a metav1.Time. It has no fractions of a second. An empty message is the zero time,
// not 1970.
func readTime(content []byte) (at time.Time, ok bool) {
	if len(content) == 0 {
		return time.Time{}, true
	}
	seconds, _, ok := readTimestamp(content)
	return time.Unix(seconds, 0), ok
}

func readTimestamp(content []byte) (seconds int64, nanos int32, ok bool) {
	s, rest, _ := protoscan.CutVarint(content, secondsTag)
	n, rest, _ := protoscan.CutVarint(rest, nanosTag)
	return int64(s), int32(n), len(rest) == 0
}
