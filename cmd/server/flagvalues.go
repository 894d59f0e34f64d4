package main

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// choice is the value of a flag that accepts only some texts.
type choice struct {
	target  *string
	allowed []string
}

// choose defines a flag that accepts only the allowed texts. The first one is the default.
func choose(flags *pflag.FlagSet, target *string, name, help string, allowed ...string) {
	*target = allowed[0]
	flags.Var(choice{target, allowed}, name, help)
}

// String implements [pflag.Value].
func (c choice) String() string { return *c.target }

// Set implements [pflag.Value].
func (c choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("must be %s", strings.Join(c.allowed, " or "))
	}
	*c.target = text
	return nil
}

// Type implements [pflag.Value]. It is printed by --help.
func (c choice) Type() string { return strings.Join(c.allowed, "|") }

// levelValue is the value of a flag with a level of log lines.
type levelValue struct{ target *slog.Level }

// String implements [pflag.Value].
func (l levelValue) String() string { return strings.ToLower(l.target.String()) }

// Set implements [pflag.Value].
func (l levelValue) Set(text string) error {
	level, ok := logLevels[strings.ToLower(text)]
	if !ok {
		return errors.New("must be debug, info, warn or error")
	}
	*l.target = level
	return nil
}

// Type implements [pflag.Value].
func (l levelValue) Type() string { return "debug|info|warn|error" }

// reloadable annotates the flags whose values in the configuration file can change while the service
// runs.
const reloadable = "reloadable"

func markReloadable(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Annotations = map[string][]string{reloadable: nil}
	}
}

func isReloadable(flag *pflag.Flag) bool {
	_, ok := flag.Annotations[reloadable]
	return ok
}

// zeroUnits matches the end of a duration that has no effect.
var zeroUnits = regexp.MustCompile("([hm])(0[ms])+$")

// readableDefault returns a flag's default as an operator writes it: 45m instead of 45m0s.
func readableDefault(flag *pflag.Flag) string {
	switch text := flag.DefValue; {
	case flag.Value.Type() == "duration":
		return zeroUnits.ReplaceAllString(text, "$1")
	case flag.Value.Type() == "stringSlice" && text != "[]":
		return strings.Trim(text, "[]")
	default:
		return text
	}
}
