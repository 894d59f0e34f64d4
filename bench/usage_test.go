package main

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestUsageOf_MeasuresCPUAndMemory(t *testing.T) {
	before, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for began := time.Now(); after.cpu == before.cpu && time.Since(began) < time.Minute; runtime.Gosched() {
		if after, err = usageOf(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if used := after.cpu - before.cpu; used <= 0 || after.rss < 1<<20 {
		t.Errorf("got %v of CPU time and %d bytes of memory, want more than 0 and at least 1 MiB", used, after.rss)
	}
}

func TestReadClock_ParsesTimesOfPS(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:00:07":    7 * time.Second,
		"1-02:03:04":  26*time.Hour + 3*time.Minute + 4*time.Second,
		"0:07.25":     7250 * time.Millisecond,
		"123:45.50":   123*time.Minute + 45500*time.Millisecond,
		"01:00:00.10": time.Hour + 100*time.Millisecond,
	} {
		if got, err := readClock(text); err != nil || got != want {
			t.Errorf("readClock(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "a:b", "1:2:3:4"} {
		if got, err := readClock(text); err == nil {
			t.Errorf("readClock(%q) = %v, want an error", text, got)
		}
	}
}

func TestReadStat_AcceptsAnyCommandName(t *testing.T) {
	got, err := readStat("7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 9 0 1 2 3 4")
	if err != nil || got.cpu != 3*time.Second {
		t.Errorf("got %+v, %v, want 3s of CPU time", got, err)
	}
}

func TestReadPeak_ParsesProcessStatus(t *testing.T) {
	for _, test := range []struct {
		name, status string
		want         int64
		fails        bool
	}{
		{
			name:   "a process",
			status: "Name:\ta VmHWM: 1 kB\nVmPeak:\t   9000 kB\nVmHWM:\t    4096 kB\nVmRSS:\t    2048 kB\n", want: 4 << 20,
		},
		{name: "a process that has ended", status: "Name:\tz\nState:\tZ (zombie)\n", fails: true},
		{name: "no number", status: "VmHWM:\t much kB\n", fails: true},
	} {
		if got, err := readPeak(test.status); got != test.want || err != nil != test.fails {
			t.Errorf("%s: got %d, %v, want %d, failure: %t", test.name, got, err, test.want, test.fails)
		}
	}
}

func TestPeakOf_IsAtLeastPresentMemory(t *testing.T) {
	if !knowsPeak {
		t.Skip("the operating system does not record the peak memory of a process")
	}
	now, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if peak, err := peakOf(os.Getpid()); err != nil || peak < now.rss/2 {
		t.Errorf("got a peak of %d, %v, want at least half of the present %d", peak, err, now.rss)
	}
}
