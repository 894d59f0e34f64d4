package logging

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"k8s.io/klog/v2"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
)

// captureAt returns what is logged until the test ends, as the service logs it.
func captureAt(t *testing.T, level slog.Level) *servertest.Log {
	t.Helper()
	return servertest.CaptureLogBy(t, func(w io.Writer) slog.Handler { return NewHandler(w, Text, level) })
}

func TestLog_LinesHaveTheChosenFormatAndOneScaleOfLevels(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelDebug - 4: "DEBUG", slog.LevelDebug: "DEBUG", slog.LevelDebug + 3: "DEBUG",
		slog.LevelInfo: "INFO", slog.LevelInfo + 2: "INFO", slog.LevelWarn: "WARN", slog.LevelError + 1: "ERROR",
	} {
		var text, lines bytes.Buffer
		all := slog.LevelDebug - 4
		slog.New(NewHandler(&text, Text, all)).Log(t.Context(), level, "said", "a", slog.GroupValue(slog.Any("level", level)))
		slog.New(NewHandler(&lines, JSON, all)).Log(t.Context(), level, "said", "a", 1)
		if !strings.Contains(text.String(), " level="+want+" msg=said") || !strings.Contains(text.String(), " a.level="+level.String()) {
			t.Errorf("%v as text: %s", level, text.String())
		}
		var line struct {
			Level, Msg string
			A          int
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Level != want || line.Msg != "said" || line.A != 1 {
			t.Errorf("%v as JSON: %s %v", level, lines.String(), err)
		}
	}
}

func TestLog_OfClientGoIsForDebuggingUnlessItWarns(t *testing.T) {
	for level, want := range map[slog.Level][]string{
		slog.LevelInfo:  {"level=WARN msg=broken"},
		slog.LevelDebug: {"level=DEBUG msg=routine logger=reflector name=pods", "level=DEBUG msg=detail", "level=WARN msg=broken"},
	} {
		logged := captureAt(t, level)
		klog.LoggerWithName(klog.Background(), "reflector").Info("routine", "name", "pods")
		klog.Background().V(2).Info("detail")
		klog.Background().V(8).Info("a request", "body", "secret")
		klog.ErrorS(nil, "broken")
		for _, line := range want {
			if !strings.Contains(logged.String(), line) {
				t.Errorf("at level %v there is no %q: %s", level, line, logged.String())
			}
		}
		if lines := strings.Count(logged.String(), "\n"); lines != len(want) {
			t.Errorf("at level %v there are %d lines, want %d: %s", level, lines, len(want), logged.String())
		}
	}
}

func TestLogHandler_EscapesWhatIsNotPrintable(t *testing.T) {
	const hostile = "a\u009b31m\x1b]0;x\a\x7f\u202eb\u2028c\U000e0001d\nlevel=ERROR \"}{\" ä 日本"
	for _, format := range []string{Text, JSON} {
		var written bytes.Buffer
		slog.New(NewHandler(&written, format, slog.LevelInfo)).Info("call", "name", hostile)
		line := strings.TrimSuffix(written.String(), "\n")
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || !strings.Contains(line, "ä 日本") {
			t.Errorf("%s: %q at %d", format, line, i)
		}
		var values map[string]any
		if format == JSON && (json.Unmarshal(written.Bytes(), &values) != nil || values["name"] != hostile) {
			t.Errorf("the JSON is of %q", values["name"])
		}
	}
}
