package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/internal/version"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
)

const configHead = "apiVersion: kubeconnect.io/v1alpha1\nkind: Configuration\n"

// fileOf writes a file, and returns its path.
func fileOf(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// everyField returns a configuration file with the values of everyFlag.
func everyField() string {
	lines := configHead
	flags := allFlags()
	for _, one := range everyFlag {
		if one.flag == configFlag {
			continue
		}
		switch flag := flags.Lookup(one.flag); flag.Value.Type() {
		case "stringSlice":
			lines += fmt.Sprintf("%s: [\"%s\"]\n", fieldName(one.flag), strings.ReplaceAll(one.value, ",", `", "`))
		case "stringArray":
			lines += fmt.Sprintf("%s: [%q]\n", fieldName(one.flag), one.value)
		case "bool", "int", "float64":
			lines += fmt.Sprintf("%s: %s\n", fieldName(one.flag), one.value)
		default:
			lines += fmt.Sprintf("%s: %q\n", fieldName(one.flag), one.value)
		}
	}
	return lines
}

func allFlags() *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, group := range new(Settings).FlagGroups() {
		all.AddFlagSet(group.Flags)
	}
	return all
}

func TestConfigFile_FlagsAndVariablesTakePrecedence(t *testing.T) {
	path := fileOf(t, configHead+"callerMaxStreams: 1\ncallerRequestRate: 2\ncallerMaxCalls: 3\npreload: [pods]\nuncached: [secrets]\n")
	read, err := Parse([]string{"--config", path, "--caller-max-streams=10", "--preload=nodes"},
		lookupIn(map[string]string{"KUBECONNECT_CALLER_REQUEST_RATE": "20"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := with(func(s *Settings) {
		s.Config, s.Preload, s.Uncached = path, []string{"nodes"}, []string{"secrets"}
		s.Limits.Streams, s.Limits.Rate, s.Limits.Calls = 10, 20, 3
	})
	if !reflect.DeepEqual(read.Settings, want) {
		t.Errorf("got %+v\nwant %+v", read.Settings, want)
	}
	if got := strings.Join(read.Shadowed, " "); got != "callerMaxStreams callerRequestRate preload" {
		t.Errorf("fields without effect: %s", got)
	}
}

func TestConfigFile_IsFoundByItsVariable(t *testing.T) {
	path := fileOf(t, "# Ours.\n---\n"+configHead+"auth: none\ncallerMaxCalls: 3\n")
	got, err := Read(nil, lookupIn(map[string]string{"KUBECONNECT_CONFIG": path}))
	want := with(func(s *Settings) {
		s.Config, s.Auth, s.Limits = path, AuthNone, gate.Limits{Burst: 2000, Calls: 3}
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestConfigFile_ErrorsNameTheFieldAndTheCorrection(t *testing.T) {
	for content, says := range map[string]string{
		"":                                      "must begin with apiVersion: kubeconnect.io/v1alpha1 and kind: Configuration",
		"[a]":                                   "must begin with apiVersion",
		"kind: Configuration":                   "has no apiVersion: add apiVersion: kubeconnect.io/v1alpha1",
		"apiVersion: v1\nkind: Configuration":   "apiVersion v1: must be kubeconnect.io/v1alpha1",
		"apiVersion: kubeconnect.io/v1alpha1":   "has no kind",
		configHead + "callerMaxStream: 3":       "callerMaxStream: unknown field; did you mean callerMaxStreams? this is kubeconnect " + version.Number,
		configHead + "caller-max-streams: 3":    "caller-max-streams: unknown field; did you mean callerMaxStreams?",
		configHead + "spec: {listen: x}":        "spec: unknown field; the fields are the flags in lowerCamelCase, see kubeconnect help; this is kubeconnect " + version.Number,
		configHead + "config: other.yaml":       "a configuration file cannot name another one",
		configHead + "listen: a\nlisten: b":     `line 4: key "listen" already set in map`,
		configHead + "---\n" + configHead:       "several YAML documents",
		configHead + "callerMaxStreams: three":  `callerMaxStreams: "three": must be a number, without quotes`,
		configHead + "callerMaxStreams: 1.5":    `callerMaxStreams: "1.5"`,
		configHead + "callerMaxStreams: [3]":    "callerMaxStreams: [3]: must be a number",
		configHead + "callerMaxStreams: -1":     "callerMaxStreams: --caller-max-streams -1: must be at least 1",
		configHead + "recheckInterval: 10":      `recheckInterval: "10": time: missing unit in duration`,
		configHead + "keepManagedFields: maybe": "keepManagedFields: \"maybe\": must be true or false",
		configHead + "tokenGeneration: 7":       "tokenGeneration: 7: must be text; write it in quotes",
		configHead + "listen:":                  "listen: has no value",
		configHead + "preload: pods":            "preload: must be a list, such as [a, b]",
		configHead + "preload: [1]":             "preload: element 1, 1: must be text",
		configHead + "auth: no":                 "auth: false: must be text; write it in quotes",
		configHead + "auth: off-and-on":         `auth: "off-and-on": must be cluster or none`,
		configHead + "logLevel: loud":           `logLevel: "loud": must be debug, info, warn or error`,
	} {
		path := fileOf(t, content)
		_, err := Read([]string{"--config", path}, lookupIn(nil))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%q: error is %v, want %s: … %s", content, err, path, says)
		}
	}
}

// A field that a flag overrides is validated too.
func TestConfigFile_FieldsWithoutEffectAreValidated(t *testing.T) {
	path := fileOf(t, configHead+"callerMaxStreams: many\n")
	if _, err := Read([]string{"--config", path, "--caller-max-streams=3"}, lookupIn(nil)); err == nil {
		t.Error("the file is accepted")
	}
	if _, err := Read([]string{"--config", path + ".none"}, lookupIn(nil)); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func FuzzConfigFile_NeverPanics(f *testing.F) {
	f.Add(everyField())
	f.Add("---\n---\n" + configHead)
	f.Fuzz(func(_ *testing.T, content string) {
		read := &Parsed{Flags: allFlags(), origins: map[string]string{}}
		if fields, err := decodeConfig([]byte(content)); err == nil {
			_ = read.setFields(fields)
		}
	})
}
