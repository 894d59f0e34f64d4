package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// reloading returns a reloader of a file, and the settings that it has applied last.
func reloading(t *testing.T, path string, flags ...string) (*Reloader, *Settings) {
	t.Helper()
	args := append([]string{"--config", path}, flags...)
	read, err := Parse(args, lookupIn(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReloader(args, lookupIn(nil), read, &slog.LevelVar{})
	applied := read.Settings
	r.Apply = func(next Settings) { applied = next }
	return r, &applied
}

func replaceFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReloader_AppliesChangedLimitsAndLevels(t *testing.T) {
	logged := servertest.CaptureLog(t)
	path := fileOf(t, configHead+"callerMaxStreams: 7\nmaxConnections: 10\n")
	r, applied := reloading(t, path, "--caller-max-calls=1")
	replaceFile(t, path, configHead+"callerMaxStreams: 8\ncallerMaxCalls: 2\nlogLevel: debug\nlogSample: 0.5\n")
	if err := r.reload(); err != nil {
		t.Fatal(err)
	}
	if applied.Limits.Streams != 8 || applied.LogSample != 0.5 || applied.MaxConnections != 4096 || r.level.Level() != slog.LevelDebug {
		t.Errorf("applied %+v at %v", applied, r.level)
	}
	if applied.Limits.Calls != 1 {
		t.Errorf("the file overrides a flag: %d", applied.Limits.Calls)
	}
	if logged.Count(`msg="configuration reloaded" callerMaxStreams=8 logLevel=debug logSample=0.5 maxConnections=4096`) != 1 {
		t.Errorf("the log is %s", logged.String())
	}
	if err := r.reload(); err != nil || logged.Count("\n") != 1 {
		t.Errorf("an unchanged file: %v %s", err, logged.String())
	}
}

func TestReloader_ReportsWhatNeedsARestart(t *testing.T) {
	logged := servertest.CaptureLog(t)
	path := fileOf(t, configHead)
	r, _ := reloading(t, path)
	for _, step := range []struct {
		content string
		lines   int
	}{
		{"preload: [pods]\nauthAudience: [a]\n", 1},
		{"preload: [pods]\nauthAudience: [a]\ncallerMaxStreams: 1\n", 1},
		{"", 1}, // as at the start
		{"preload: [nodes]\n", 2},
	} {
		replaceFile(t, path, configHead+step.content)
		if err := r.reload(); err != nil {
			t.Fatal(err)
		}
		if got := logged.Count("no effect before a restart"); got != step.lines {
			t.Errorf("after %q: %d lines, want %d: %s", step.content, got, step.lines, logged.String())
		}
	}
	if logged.Count(`fields="[authAudience preload]"`) != 1 {
		t.Errorf("the log is %s", logged.String())
	}
}

func TestReloader_KeepsTheSettingsOfAWrongFile(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged := servertest.CaptureLog(t)
		path := fileOf(t, configHead+"callerMaxStreams: 7\n")
		r, applied := reloading(t, path)
		signals := make(chan os.Signal)
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { r.followUntil(ctx, signals) })
		defer following.Wait()
		defer stop()
		wait := func() {
			time.Sleep(3 * readInterval)
			synctest.Wait() // the file may be read at this moment
		}

		replaceFile(t, path, configHead+"callerMaxStream: 8\n")
		wait()
		if applied.Limits.Streams != 7 || servertest.ValueOf(t, r.metrics.successful) != 0 {
			t.Errorf("a wrong file is applied: %+v", applied.Limits)
		}
		if logged.Count("the old settings remain in effect") != 1 || logged.Count("did you mean callerMaxStreams?") != 1 {
			t.Errorf("the log is %s", logged.String())
		}
		replaceFile(t, path, configHead+"callerMaxStreams: 8\n")
		wait()
		if applied.Limits.Streams != 8 || servertest.ValueOf(t, r.metrics.successful) != 1 {
			t.Errorf("the corrected file is not applied: %+v", applied.Limits)
		}
		replaceFile(t, path, configHead+"callerMaxStreams: nine\n")
		signals <- syscall.SIGHUP
		synctest.Wait()
		if logged.Count(`must be a number`) != 1 {
			t.Errorf("after SIGHUP the log is %s", logged.String())
		}
		replaceFile(t, path, configHead+"callerMaxStreams: 9\n")
		signals <- syscall.SIGHUP
		synctest.Wait()
		if applied.Limits.Streams != 9 || logged.Count("SIGHUP: the configuration file has been read") != 1 {
			t.Errorf("after SIGHUP %+v: %s", applied.Limits, logged.String())
		}
	})
}

// A ConfigMap is replaced by exchanging a symbolic link of the folder.
func TestReloader_FollowsAMountedConfigMap(t *testing.T) {
	servertest.CaptureLog(t)
	volume := t.TempDir()
	for revision, content := range map[string]string{"first": "callerMaxStreams: 7\n", "second": "callerMaxStreams: 8\n"} {
		if err := os.Mkdir(filepath.Join(volume, revision), 0o700); err != nil {
			t.Fatal(err)
		}
		replaceFile(t, filepath.Join(volume, revision, "config.yaml"), configHead+content)
	}
	link := func(revision string) {
		t.Helper()
		if err := os.Symlink(revision, filepath.Join(volume, "..next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(volume, "..next"), filepath.Join(volume, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	link("first")
	if err := os.Symlink("..data/config.yaml", filepath.Join(volume, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	r, applied := reloading(t, filepath.Join(volume, "config.yaml"))
	link("second")
	if err := r.reload(); err != nil || applied.Limits.Streams != 8 {
		t.Errorf("%d streams are allowed, %v", applied.Limits.Streams, err)
	}
}

func TestReloader_WarnsOfFieldsWithoutEffect(t *testing.T) {
	logged := servertest.CaptureLog(t)
	reloading(t, fileOf(t, configHead+"callerMaxStreams: 7\n"), "--caller-max-streams=3")
	if logged.Count(`fields=[callerMaxStreams]`) != 1 {
		t.Errorf("the log is %s", logged.String())
	}
	read, err := Parse(nil, lookupIn(nil), nil)
	if err != nil || NewReloader(nil, lookupIn(nil), read, &slog.LevelVar{}) != nil {
		t.Errorf("a reloader without a file, or %v", err)
	}
}

// TestReloader_AppliesNothingOfASettingThatNeedsARestart changes --auth, which decides the default limits.
func TestReloader_AppliesNothingOfASettingThatNeedsARestart(t *testing.T) {
	for from, to := range map[string]string{AuthCluster: AuthNone, AuthNone: AuthCluster} {
		t.Run("from "+from, func(t *testing.T) {
			logged := servertest.CaptureLog(t)
			path := fileOf(t, configHead+"auth: "+from+"\n")
			r, applied := reloading(t, path)
			before := applied.Limits
			replaceFile(t, path, configHead+"auth: "+to+"\nlogSample: 0.5\n")
			if err := r.reload(); err != nil {
				t.Fatal(err)
			}
			if applied.Limits != before || applied.LogSample != 0.5 {
				t.Errorf("the limits %+v become %+v", before, applied.Limits)
			}
			if logged.Count("callerMaxStreams=") != 0 || logged.Count("fields=[auth]") != 1 {
				t.Errorf("the log is %s", logged.String())
			}
		})
	}
}
