package simulate

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

func TestRuns_AreThoseOfTheStatus(t *testing.T) {
	pod := runningPod()
	if got, err := lastRun(pod, "ledger"); err != nil || !got.start.Equal(now.Time) || !got.end.IsZero() {
		t.Errorf("running: %+v, %v", got, err)
	}
	if _, err := previousRun(pod, "ledger"); err == nil {
		t.Error("a container that was never restarted has a previous run")
	}
	pod.Status = *crash.next(pod, later(crash.runs)).status
	for name, runOf := range map[string]func(*corev1.Pod, string) (run, error){"last": lastRun, "previous": previousRun} {
		if got, err := runOf(pod, "ledger"); err != nil || got.end.Sub(got.start) != crash.runs || got.reason != "Error" {
			t.Errorf("%s run: %+v, %v", name, got, err)
		}
	}
}

func TestRuns_OfAContainerThatWaits(t *testing.T) {
	pod := runningPod()
	pod.Status = *nextPull(pod, now).status
	pod.Status = *nextPull(pod, now).status
	if _, err := lastRun(pod, "ledger"); err == nil || !strings.HasSuffix(err.Error(), "trying and failing to pull image") {
		t.Errorf("error %v", err)
	}
}

func TestOutput_IsTheSameForEachReader(t *testing.T) {
	output := newOutput(runningPod(), "ledger")
	current := run{start: now.Time}
	early, late := new(kubelet.Log), new(kubelet.Log)
	output.writeBefore(early, current, now.Add(time.Minute))
	output.writeBefore(late, current, now.Add(20*time.Minute))
	first, second := read(early), read(late)
	if first == "" || !strings.HasPrefix(second, first) || len(second) < 10*len(first) {
		t.Errorf("the log of %d bytes does not begin with that of %d bytes", len(second), len(first))
	}
}

func TestOutput_IsBounded(t *testing.T) {
	log := new(kubelet.Log)
	newOutput(runningPod(), "ledger").writeBefore(log, run{start: now.AddDate(-1, 0, 0)}, now.Time)
	if lines := strings.Count(read(log), "\n"); lines > maxLines+1 {
		t.Errorf("%d lines", lines)
	}
}

func TestOutput_OfARunThatEnded(t *testing.T) {
	for name, test := range map[string]struct {
		run  run
		last string
	}{
		"a crash":                     {run{now.Time, now.Add(crash.runs), "Error"}, "exit status 2"},
		"a run that was killed":       {run{now.Time, now.Add(time.Minute), "OOMKilled"}, `"trace":`},
		"a run that is done at once":  {run{now.Time, now.Time, "Completed"}, `"trace":`},
		"a run that crashes at once ": {run{now.Time, now.Time, "Error"}, "exit status 2"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(kubelet.Log)
			newOutput(runningPod(), "ledger").writeAll(log, test.run)
			lines := strings.Split(strings.TrimSpace(read(log)), "\n")
			if len(lines) < minLines || !strings.Contains(lines[len(lines)-1], test.last) {
				t.Errorf("%d lines, the last one is %q", len(lines), lines[len(lines)-1])
			}
		})
	}
}

func TestFormats_AreWhatTheirNamesSay(t *testing.T) {
	for name, pattern := range map[string]string{
		"logfmt":   `^time=\S+ level=\w+ msg="[^"]+" entry=\d+$`,
		"klog":     `^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6}       1 controller\.go:\d+\] "`,
		"postgres": `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC \[\d+\] (LOG|WARNING|ERROR):  `,
	} {
		for _, line := range linesOf(name) {
			if !regexp.MustCompile(pattern).MatchString(line) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	for _, line := range linesOf("json") {
		var parsed struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &parsed); err != nil || parsed.Level == "" || parsed.Msg == "" {
			t.Errorf("json: %s: %v", line, err)
		}
	}
}

// linesOf returns the first lines in a format.
func linesOf(name string) []string {
	pod := runningPod()
	pod.Annotations = map[string]string{LogAnnotation: name}
	log := new(kubelet.Log)
	newOutput(pod, "ledger").writeBefore(log, run{start: now.Time}, now.Add(time.Minute))
	return strings.Split(strings.TrimSpace(read(log)), "\n")
}

func read(log *kubelet.Log) string {
	recorder := httptest.NewRecorder()
	log.ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
	return recorder.Body.String()
}
