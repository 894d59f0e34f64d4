package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/internal/spelling"
	"github.com/kubeconnect/kubeconnect/internal/version"
)

// lookup returns the value of an environment variable, as [os.LookupEnv] does.
type lookup func(name string) (value string, ok bool)

// Parsed are settings and where they come from. In descending precedence: flags, environment variables,
// the configuration file, defaults.
type Parsed struct {
	Settings
	Flags *pflag.FlagSet
	// origins has the source of each flag that was not given as a flag: a variable, or a field of the
	// configuration file.
	origins map[string]string
	// shadowed are the fields of the file that have no effect, because flags or variables set them.
	Shadowed []string
}

// Read returns the settings of a command line.
func Read(args []string, env lookup) (Settings, error) {
	read, err := Parse(args, env, nil)
	return read.Settings, err
}

// Parse parses flags, environment variables and the configuration file. A command has flags of its own,
// or nil. If the error is not nil, the result has what was parsed before it.
func Parse(args []string, env lookup, own *pflag.FlagSet) (*Parsed, error) {
	read := &Parsed{Flags: pflag.NewFlagSet("kubeconnect", pflag.ContinueOnError), origins: map[string]string{}}
	for _, group := range read.FlagGroups() {
		read.Flags.AddFlagSet(group.Flags)
	}
	all := pflag.NewFlagSet("kubeconnect", pflag.ContinueOnError)
	all.AddFlagSet(read.Flags)
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
	// An empty list in the configuration file is a decision. An empty flag or variable has lost its value, and all namespaces would be
	// read.
	if read.Flags.Changed("namespaces") && len(read.Namespaces) == 0 {
		return read, read.locate(checkNamespace(""))
	}
	if err := read.readConfig(); err != nil {
		return read, err
	}
	read.liftLimits(read.Flags, read.Auth)
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
func (p *Parsed) readEnvironment(env lookup) error {
	var failed error
	p.Flags.VisitAll(func(flag *pflag.Flag) {
		name := "KUBECONNECT_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, ok := env(name)
		if flag.Changed || !ok {
			return
		}
		if err := p.Flags.Set(flag.Name, value); err != nil {
			failed = errors.Join(failed, fmt.Errorf("environment variable %s: %w", name, err))
		}
		p.origins[flag.Name] = "environment variable " + name
	})
	return failed
}

// readConfig sets the flags that were not given, nor set by a variable, from the configuration file.
func (p *Parsed) readConfig() error {
	if p.Config == "" {
		return nil
	}
	content, err := os.ReadFile(p.Config)
	if err != nil {
		return fmt.Errorf("--%s: %w", configFlag, err)
	}
	fields, err := decodeConfig(content)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Config, err)
	}
	return p.setFields(fields)
}

// namedFlag matches the flag that an error begins with, or names first.
var namedFlag = regexp.MustCompile(`--([a-z-]+)`)

// locate adds the source of the value to an error about it, unless it is a flag.
func (p *Parsed) locate(err error) error {
	if err == nil {
		return nil
	}
	if named := namedFlag.FindStringSubmatch(err.Error()); named != nil && p.origins[named[1]] != "" {
		return fmt.Errorf("%s: %w", p.origins[named[1]], err)
	}
	return err
}

// The configuration file is one YAML document. Its fields are the flags: --caller-max-streams is
// callerMaxStreams. Because the flags define them, a new flag is a new field.

const (
	// configFlag is the flag that names the file.
	configFlag = "config"
	// configAPIVersion and configKind are the required first fields of the file.
	configAPIVersion = "kubeconnect.io/v1alpha1"
	configKind       = "Configuration"
)

// fieldName returns the field of the configuration file for a flag.
func fieldName(flag string) string {
	words := strings.Split(flag, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// fieldsOf returns the flags that can be set in the file, by their fields.
func fieldsOf(flags *pflag.FlagSet) map[string]*pflag.Flag {
	fields := map[string]*pflag.Flag{}
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != configFlag {
			fields[fieldName(flag.Name)] = flag
		}
	})
	return fields
}

// decodeConfig returns the fields of a configuration file, without apiVersion and kind.
func decodeConfig(content []byte) (map[string]any, error) {
	document, err := onlyDocument(content)
	if err != nil {
		return nil, err
	}
	fields, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("must begin with apiVersion: %s and kind: %s", configAPIVersion, configKind)
	}
	for _, required := range []struct{ field, value string }{{"apiVersion", configAPIVersion}, {"kind", configKind}} {
		switch got, ok := fields[required.field]; {
		case !ok:
			return nil, fmt.Errorf("has no %s: add %s: %s", required.field, required.field, required.value)
		case got != required.value:
			return nil, fmt.Errorf("%s %v: must be %s", required.field, got, required.value)
		}
		delete(fields, required.field)
	}
	return fields, nil
}

// onlyDocument decodes the YAML document of a file. Documents with nothing but comments do not count.
func onlyDocument(content []byte) (document any, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return document, nil
		}
		if err != nil {
			return nil, err
		}
		next, err := decodeYAML(text)
		switch {
		case err != nil:
			return nil, err
		case next != nil && document != nil:
			return nil, errors.New("has several YAML documents: one is allowed")
		case next != nil:
			document = next
		}
	}
}

// decodeYAML decodes a YAML document. Numbers keep their text, and duplicate fields are errors.
func decodeYAML(text []byte) (document any, err error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	return document, decoder.Decode(&document)
}

// setFields sets the flags that have no value yet from the fields of the file.
func (p *Parsed) setFields(fields map[string]any) error {
	var failed error
	known := fieldsOf(p.Flags)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		flag, ok := known[name]
		if !ok {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.Settings.Config, unknownField(name, known)))
			continue
		}
		if err := p.setField(flag, fields[name]); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %s: %w", p.Settings.Config, name, err))
		}
	}
	return failed
}

func unknownField(name string, known map[string]*pflag.Flag) error {
	if name == configFlag {
		return errors.New("config: a configuration file cannot name another one")
	}
	if meant := spelling.Nearest(name, slices.Sorted(maps.Keys(known))); meant != "" {
		return fmt.Errorf("%s: unknown field; did you mean %s? %s", name, meant, unknownHere())
	}
	return fmt.Errorf("%s: unknown field; the fields are the flags in lowerCamelCase, see kubeconnect help; %s", name, unknownHere())
}

// setField sets a flag to the value of a field, unless a flag or a variable has set it.
func (p *Parsed) setField(flag *pflag.Flag, value any) error {
	if flag.Changed {
		p.Shadowed = append(p.Shadowed, fieldName(flag.Name))
		flag = unused(flag)
	} else {
		p.origins[flag.Name] = p.Settings.Config + ": " + fieldName(flag.Name)
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return p.setList(flag, list, value)
	}
	text, err := scalar(flag.Value.Type(), value)
	if err != nil {
		return err
	}
	if err := flag.Value.Set(text); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	flag.Changed = true
	return nil
}

// unused returns a flag of the same type that sets nothing, to validate a value that has no effect.
func unused(flag *pflag.Flag) *pflag.Flag {
	var none Settings
	for _, group := range none.FlagGroups() {
		if same := group.Flags.Lookup(flag.Name); same != nil {
			return same
		}
	}
	return flag
}

func (p *Parsed) setList(flag *pflag.Flag, list pflag.SliceValue, value any) error {
	elements, ok := value.([]any)
	if !ok {
		return errors.New("must be a list, such as [a, b]")
	}
	texts := make([]string, len(elements))
	for i, element := range elements {
		if texts[i], ok = element.(string); !ok {
			return fmt.Errorf("element %d, %v: must be text; write it in quotes", i+1, element)
		}
	}
	flag.Changed = true
	return list.Replace(texts)
}

// scalar returns the text of a field's value for a flag of a type, as on the command line. YAML reads
// words such as no and 1e3 as other types than text, so these need quotes.
func scalar(flagType string, value any) (string, error) {
	switch value := value.(type) {
	case string:
		if flagType == "bool" || flagType == "int" || flagType == "float64" {
			return "", fmt.Errorf("%q: must be %s, without quotes", value, nameOfType[flagType])
		}
		return value, nil
	case json.Number:
		if flagType == "int" || flagType == "float64" || flagType == "duration" {
			return value.String(), nil
		}
	case bool:
		if flagType == "bool" {
			return fmt.Sprint(value), nil
		}
	case nil:
		return "", errors.New("has no value: omit the field for the default")
	}
	if name, ok := nameOfType[flagType]; ok {
		return "", fmt.Errorf("%v: must be %s", value, name)
	}
	return "", fmt.Errorf("%v: must be text; write it in quotes", value)
}

// nameOfType has what a field must be that is not text, by the type of its flag.
var nameOfType = map[string]string{
	"bool": "true or false", "int": "a number", "float64": "a number", "duration": "a duration such as 90s or 5m",
}
