package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/internal/spelling"
	"github.com/kubeconnect/kubeconnect/internal/version"
)

// lookup returns the value of an environment variable, as [os.LookupEnv] does.
type lookup func(name string) (value string, ok bool)

// parsed are settings and where they come from. In descending precedence: flags, environment variables,
// the configuration file, defaults.
type parsed struct {
	settings
	flags *pflag.FlagSet
	// origins has the source of each flag that was not given as a flag: a variable, or a field of the
	// configuration file.
	origins map[string]string
	// shadowed are the fields of the file that have no effect, because flags or variables set them.
	shadowed []string
}

// readSettings returns the settings of a command line.
func readSettings(args []string, env lookup) (settings, error) {
	read, err := parse(args, env, nil)
	return read.settings, err
}

// parse parses flags, environment variables and the configuration file. A command has flags of its own,
// or nil. If the error is not nil, the result has what was parsed before it.
func parse(args []string, env lookup, own *pflag.FlagSet) (*parsed, error) {
	read := &parsed{flags: pflag.NewFlagSet("kubeconnect", pflag.ContinueOnError), origins: map[string]string{}}
	for _, group := range read.flagGroups() {
		read.flags.AddFlagSet(group.flags)
	}
	all := pflag.NewFlagSet("kubeconnect", pflag.ContinueOnError)
	all.AddFlagSet(read.flags)
	all.AddFlagSet(own)
	all.Usage = func() {} // the caller prints it
	if err := all.Parse(args); err != nil {
		return read, withSuggestion(err, all)
	}
	if all.NArg() > 0 {
		return read, fmt.Errorf("unexpected argument %q; see kubeconnect help", all.Arg(0))
	}
	if err := read.readEnvironment(env); err != nil {
		return read, err
	}
	if err := read.readConfig(); err != nil {
		return read, err
	}
	read.liftLimits(read.flags, read.auth)
	return read, read.locate(read.check())
}

// withSuggestion adds the flag that was probably meant to the error for an unknown flag, and the version
// that does not know it: after a downgrade the flag can be one of a newer version.
func withSuggestion(err error, flags *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if meant := spelling.Nearest(unknown.GetSpecifiedName(), names); meant != "" {
		return fmt.Errorf("%w; did you mean --%s? %s", err, meant, unknownHere())
	}
	return fmt.Errorf("%w; see kubeconnect help; %s", err, unknownHere())
}

// unknownHere says which version does not know a flag or a field.
func unknownHere() string {
	return fmt.Sprintf("this is %s: a newer version may know it", version.Get())
}

// readEnvironment sets the flags that were not given from KUBECONNECT_ variables.
func (p *parsed) readEnvironment(env lookup) error {
	var failed error
	p.flags.VisitAll(func(flag *pflag.Flag) {
		name := "KUBECONNECT_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, ok := env(name)
		if flag.Changed || !ok {
			return
		}
		if err := p.flags.Set(flag.Name, value); err != nil {
			failed = errors.Join(failed, fmt.Errorf("environment variable %s: %w", name, err))
		}
		p.origins[flag.Name] = "environment variable " + name
	})
	return failed
}

// readConfig sets the flags that were not given, nor set by a variable, from the configuration file.
func (p *parsed) readConfig() error {
	if p.config == "" {
		return nil
	}
	content, err := os.ReadFile(p.config)
	if err != nil {
		return fmt.Errorf("--%s: %w", configFlag, err)
	}
	fields, err := decodeConfig(content)
	if err != nil {
		return fmt.Errorf("%s: %w", p.config, err)
	}
	return p.setFields(fields)
}

// namedFlag matches the flag that an error begins with, or names first.
var namedFlag = regexp.MustCompile(`--([a-z-]+)`)

// locate adds the source of the value to an error about it, unless it is a flag.
func (p *parsed) locate(err error) error {
	if err == nil {
		return nil
	}
	if named := namedFlag.FindStringSubmatch(err.Error()); named != nil && p.origins[named[1]] != "" {
		return fmt.Errorf("%s: %w", p.origins[named[1]], err)
	}
	return err
}
