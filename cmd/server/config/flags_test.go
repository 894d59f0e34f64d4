package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsDoc_DescribesEveryFlag compares the sections of docs/flags.md with the flags, in their
// groups and order.
func TestFlagsDoc_DescribesEveryFlag(t *testing.T) {
	var want []string
	for _, group := range new(Settings).FlagGroups() {
		want = append(want, "## "+group.Title)
		group.Flags.VisitAll(func(flag *pflag.Flag) { want = append(want, "### `--"+flag.Name+"`") })
	}
	got := regexp.MustCompile("(?m)^##+ .*$").FindAllString(readFlagsDoc(t), -1)
	if !slices.Equal(got, want) {
		t.Errorf("docs/flags.md has the sections\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFlagsDoc_HasTheDefaults(t *testing.T) {
	described := map[string]string{}
	for _, section := range regexp.MustCompile("(?m)^### `--(.*)`\n\nDefault: (none|`[^`]+`)").FindAllStringSubmatch(readFlagsDoc(t), -1) {
		described[section[1]] = strings.Trim(section[2], "`")
	}
	for _, group := range new(Settings).FlagGroups() {
		group.Flags.VisitAll(func(flag *pflag.Flag) {
			if want := defaultOf(flag); described[flag.Name] != want {
				t.Errorf("docs/flags.md has the default %q of --%s, want %q", described[flag.Name], flag.Name, want)
			}
		})
	}
}

func TestFlagsDoc_SaysWhatIsReloadable(t *testing.T) {
	sections := strings.Split(readFlagsDoc(t), "\n### `--")[1:]
	for _, group := range new(Settings).FlagGroups() {
		group.Flags.VisitAll(func(flag *pflag.Flag) {
			for _, section := range sections {
				if strings.HasPrefix(section, flag.Name+"`") && strings.Contains(section, "Reloadable.") != isReloadable(flag) {
					t.Errorf("docs/flags.md and --%s disagree about whether it is reloadable", flag.Name)
				}
			}
		})
	}
}

// defaultOf returns the default of a flag as it is written in docs/flags.md.
func defaultOf(flag *pflag.Flag) string {
	if flag.DefValue == "" || flag.DefValue == "[]" {
		return "none"
	}
	return flag.DefValue
}

func readFlagsDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestIsDefault_KnowsEachSetting(t *testing.T) {
	for name, value := range ValuesOf(allFlags()) {
		if !IsDefault(name, value) || IsDefault(name, value+"x") {
			t.Errorf("--%s: the default is %q", name, defaultSettings()[name])
		}
	}
}
