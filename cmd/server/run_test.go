package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/cmd/server/config"
	"github.com/kubeconnect/kubeconnect/internal/version"
)

func TestRun_PrintsHelp(t *testing.T) {
	for args, want := range map[string]string{
		"--help":         "--caller-max-streams int",
		"-h":             "--log-level debug|info|warn|error",
		"help":           "--recheck-interval duration",
		"help check":     "kubeconnect check [flags]",
		"check --help":   "-o, --output text|json",
		"help version":   "kubeconnect version [flags]",
		"version --help": "-o, --output text|json",
	} {
		var printed strings.Builder
		if err := run(t.Context(), strings.Fields(args), &printed); err != nil || !strings.Contains(printed.String(), want) {
			t.Errorf("%s: %v, without %q: %s", args, err, want, printed.String())
		}
	}
}

func TestRun_SuggestsWhatWasMeant(t *testing.T) {
	for args, want := range map[string]string{
		"--caller-max-stream 3": "did you mean --caller-max-streams? this is kubeconnect " + version.Number,
		"--no-such-thing":       "unknown flag: --no-such-thing; see kubeconnect help; this is kubeconnect " + version.Number,
		"help me":               "the commands are check, kubeconfig and version",
		"serve":                 `unexpected argument "serve"; see kubeconnect help`,
		"version now":           "see kubeconnect help version",
	} {
		var printed strings.Builder
		if err := run(t.Context(), strings.Fields(args), &printed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestHelp_IsShort bounds the lines of --help, and the help of each flag: docs/flags.md has the
// details.
func TestHelp_IsShort(t *testing.T) {
	groups := new(config.Settings).FlagGroups()
	for line := range strings.Lines(usage(groups)) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
			t.Errorf("longer than 100 characters: %s", line)
		}
	}
	for _, group := range groups {
		group.Flags.VisitAll(func(flag *pflag.Flag) {
			if length := utf8.RuneCountInString(flag.Usage); length == 0 || length > 100 {
				t.Errorf("the help of --%s has %d characters, want 1 to 100", flag.Name, length)
			}
		})
	}
}
