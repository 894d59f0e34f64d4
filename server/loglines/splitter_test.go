package loglines

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const noon = "2026-05-04T12:00:00"

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// splitAll returns the lines of a log, also an incomplete one at its end.
func splitAll(lines *splitter) (all []Line) {
	for lines.err == nil {
		lines.fill()
		for line, ok := lines.take(); ok; line, ok = lines.take() {
			all = append(all, copied(line))
		}
	}
	if line, ok := lines.remainder(); ok {
		all = append(all, copied(line))
	}
	return all
}

func TestSplitter_SplitsLogs(t *testing.T) {
	t.Parallel()
	zero := at(noon + "Z")
	for name, test := range map[string]struct {
		log  string
		want []Line
	}{
		"an empty log": {"", nil},
		"lines":        {noon + "Z one\n" + noon + ".5Z two\n", []Line{line(zero, 1, "one"), line(zero.Add(time.Second/2), 1, "two")}},
		"lines of one time": {noon + "Z one\n" + noon + "Z two\n" + noon + ".1Z three\n", []Line{
			line(zero, 1, "one"), line(zero, 2, "two"), line(zero.Add(time.Second/10), 1, "three")}},
		"an empty line":              {noon + "Z \n", []Line{line(zero, 1, "")}},
		"no end of the last line":    {noon + "Z one\n" + noon + "Z tw", []Line{line(zero, 1, "one"), line(zero, 2, "tw")}},
		"another time zone":          {"2026-05-04T14:00:00+02:00 one\n", []Line{line(zero, 1, "one")}},
		"a message of the node":      {noon + "Z one\nthe log is lost\n", []Line{line(zero, 1, "one"), line(zero, 2, "the log is lost")}},
		"only a message":             {"unable to retrieve logs", []Line{line(time.Time{}, 1, "unable to retrieve logs")}},
		"bytes that are not text":    {noon + "Z \xff\x00\r\n", []Line{line(zero, 1, "\xff\x00\r")}},
		"a time within a line":       {noon + "Z a " + noon + "Z b\n", []Line{line(zero, 1, "a "+noon+"Z b")}},
		"a line of maximum length":   {noon + "Z " + strings.Repeat("x", MaxLineBytes) + "\n", []Line{line(zero, 1, strings.Repeat("x", MaxLineBytes))}},
		"a line of one byte more":    {noon + "Z " + strings.Repeat("x", MaxLineBytes+1) + "\n", []Line{cut(zero, 1), line(zero, 2, "x")}},
		"a line of three parts":      {noon + "Z " + strings.Repeat("x", 2*MaxLineBytes) + noon + "Z\n" + noon + "Z y\n", []Line{cut(zero, 1), cut(zero, 2), line(zero, 3, noon+"Z"), line(zero, 4, "y")}},
		"a long line without an end": {noon + "Z " + strings.Repeat("x", MaxLineBytes+3), []Line{cut(zero, 1), line(zero, 2, "xxx")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantLines(t, splitAll(newSplitter(strings.NewReader(test.log))), test.want)
			wantLines(t, splitAll(newSplitter(iotest.DataErrReader(strings.NewReader(test.log)))), test.want)
			if len(test.log) < 200 {
				wantLines(t, splitAll(newSplitter(iotest.OneByteReader(strings.NewReader(test.log)))), test.want)
			}
		})
	}
}

func line(at time.Time, ordinal int, text string) Line {
	return Line{Position: Position{at, ordinal}, Text: []byte(text)}
}

func cut(at time.Time, ordinal int) Line {
	part := line(at, ordinal, strings.Repeat("x", MaxLineBytes))
	part.Cut = true
	return part
}

func wantLines(t *testing.T, got, want []Line) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d: %.200v", len(got), len(want), got)
	}
	for i := range got {
		if !got[i].Time.Equal(want[i].Time) || got[i].Ordinal != want[i].Ordinal || got[i].Cut != want[i].Cut || !bytes.Equal(got[i].Text, want[i].Text) {
			t.Errorf("line %d is %.200v, want %.200v", i, got[i], want[i])
		}
	}
}

// TestSplitter_HasASmallBufferWhileTheLogIsSilent reads a long line, then short ones.
func TestSplitter_HasASmallBufferWhileTheLogIsSilent(t *testing.T) {
	t.Parallel()
	lines := newSplitter(&sizedReader{[]byte(strings.Repeat("x", MaxLineBytes-1) + "\n" + strings.Repeat("y\n", 10)), 1000})
	largest := 0
	for lines.err == nil {
		lines.fill()
		largest = max(largest, len(lines.buffer))
		for _, ok := lines.take(); ok; _, ok = lines.take() {
		}
	}
	if largest < MaxLineBytes || largest > maxBufferBytes || len(lines.buffer) > 2*minBufferBytes {
		t.Errorf("the buffer grows to %d bytes and ends with %d", largest, len(lines.buffer))
	}
}

// FuzzSplitter reads a log in pieces of some size: the lines and their positions must be the same
// as of the whole log, and none may be longer than allowed.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte(noon+"Z one\n"+noon+".5Z two"), 3)
	f.Add([]byte("no time\n \n\n"), 1)
	f.Fuzz(func(t *testing.T, log []byte, size int) {
		whole := splitAll(newSplitter(bytes.NewReader(log)))
		wantLines(t, splitAll(newSplitter(&sizedReader{log, max(1, size%1000)})), whole)
		for i, line := range whole {
			if len(line.Text) > MaxLineBytes || bytes.IndexByte(line.Text, '\n') >= 0 {
				t.Errorf("line %d is %q", i, line.Text)
			}
		}
	})
}

// sizedReader reads at most size bytes at a time.
type sizedReader struct {
	rest []byte
	size int
}

func (r *sizedReader) Read(p []byte) (int, error) {
	count, err := bytes.NewReader(r.rest[:min(r.size, len(r.rest))]).Read(p)
	r.rest = r.rest[count:]
	return count, err
}
