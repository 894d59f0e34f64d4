package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flags are the command-line flags of a component, by name without dashes.
type flags map[string]string

// with returns the arguments for these flags and the extra ones, which have the form key=value. An
// extra flag replaces the flag of the same name; if it is given twice it is passed twice.
func (f flags) with(extra []string) ([]string, error) {
	kept := maps.Clone(f)
	var added []string
	for _, flag := range extra {
		name, _, ok := strings.Cut(flag, "=")
		if !ok || name == "" || strings.HasPrefix(name, "-") {
			return nil, fmt.Errorf("invalid argument %q: write it as key=value, without dashes", flag)
		}
		delete(kept, name)
		added = append(added, "--"+flag)
	}
	return append(kept.args(), added...), nil
}

// args returns the flags as arguments, sorted by name.
func (f flags) args() []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		args = append(args, "--"+name+"="+f[name])
	}
	return args
}
