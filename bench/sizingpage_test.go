package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

func fileText(t *testing.T, elements ...string) string {
	t.Helper()
	path, err := harness.Path(elements...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func measuredSizing(t *testing.T) *sizing {
	t.Helper()
	path, err := harness.Path(filepath.Split(sizingFile))
	if err != nil {
		t.Fatal(err)
	}
	measured, err := readFigures(path)
	if err != nil {
		t.Fatal(err)
	}
	return measured
}

func TestSizingPage_HasTheMeasuredFigures(t *testing.T) {
	page, err := measuredSizing(t).page()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fileText(t, "docs", "sizing.md"), page); diff != "" {
		t.Errorf("docs/sizing.md is out of date: run `make sizing-page` (-written +generated)\n%s", diff)
	}
}

// TestSizing_TheDocumentedSumsSuffice compares the sums of the chart and of docs/planning.md, which
// operators compute without a table, with what was measured.
func TestSizing_TheDocumentedSumsSuffice(t *testing.T) {
	measured := measuredSizing(t)
	for _, test := range []struct {
		name, pattern string
		file          []string
		need          float64 // kilobytes
	}{
		{
			"a pod and its relist", `Count ([\d.]+) KB\s+# for each pod of the cluster`,
			[]string{"deploy", "kubeconnect", "values.yaml"}, 2 * (plannedContent + measured.Objects.AdditionalBytes) / 1e3,
		},
		{
			"a stream", `([\d.]+) KB for each open stream`,
			[]string{"deploy", "kubeconnect", "values.yaml"}, measured.Streams.OwnBytes / 1e3,
		},
		{
			"a pod", `\| cached objects \| ([\d.]+) KB for each pod`,
			[]string{"docs", "planning.md"}, (plannedContent + measured.Objects.AdditionalBytes) / 1e3,
		},
		{
			"a stream", `\| streams \| ([\d.]+) KB for each`,
			[]string{"docs", "planning.md"}, measured.Streams.OwnBytes / 1e3,
		},
	} {
		found := regexp.MustCompile(test.pattern).FindStringSubmatch(fileText(t, test.file...))
		if found == nil {
			t.Errorf("%s has no %s", filepath.Join(test.file...), test.pattern)
			continue
		}
		if got, err := strconv.ParseFloat(found[1], 64); err != nil || got < test.need {
			t.Errorf("%s plans %s KB for %s, but %.1f KB were measured", filepath.Join(test.file...), found[1], test.name, test.need)
		}
	}
}

// TestSizing_TheFormulaSuffices compares the formula of docs/sizing.md with the peaks of the services
// that were given the memory that it computes.
func TestSizing_TheFormulaSuffices(t *testing.T) {
	checked := 0
	for _, c := range measuredSizing(t).Clusters {
		if c.LimitMB == 0 {
			continue
		}
		checked++
		if c.LimitExceededSeconds > 0 {
			t.Errorf("%d pods: the limit of %.0f MB was exceeded for %.0f s", c.Pods, c.LimitMB, c.LimitExceededSeconds)
		}
		// The container's limit is higher: the chart sets --memory-limit to 95 % of it.
		if container := c.LimitMB / 0.95; c.RelistPeakMB > container || c.SnapshotPeakMB > container {
			t.Errorf("%d pods: the peaks are %.0f and %.0f MB, above %.0f MB", c.Pods, c.SnapshotPeakMB, c.RelistPeakMB, container)
		}
	}
	if checked == 0 {
		t.Error("no service with the memory of the formula was measured")
	}
}

func TestChangedAt_ReadsTheTimeOfTheChange(t *testing.T) {
	now := time.UnixMicro(1_795_584_800_223_456)
	pod := append(append([]byte("…"), changedKey...), "584800123456…"...)
	changed, ok := changedAt(pod, now)
	if delay := now.Sub(changed); !ok || delay != 100*time.Millisecond {
		t.Errorf("the change was %v ago, %v; want 100 ms", delay, ok)
	}
	if _, ok := changedAt([]byte("no annotation"), now); ok {
		t.Error("a pod without the annotation has a time")
	}
}
