package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// The exit codes of a shell.
const (
	exitMisuse      = 2
	exitNotFound    = 127
	exitInterrupted = 130
)

// program runs a command and returns its exit code.
type program func(*call) int

// call is one call of a program.
type call struct {
	*scope
	ctx      context.Context // done when the program must end
	host     *Host
	terminal *terminal // nil without a terminal
	args     []string  // with the name of the program
	in       io.Reader
	out, err io.Writer
}

// name returns the name of the program without its directory.
func (c *call) program() string { return c.args[0][strings.LastIndex(c.args[0], "/")+1:] }

// print writes to the standard output, and returns the exit code.
func (c *call) print(text string) int {
	if _, err := io.WriteString(c.out, text); err != nil {
		return 1
	}
	return 0
}

// fail writes a message to the standard error output, and returns the exit code 1.
func (c *call) fail(format string, arguments ...any) int {
	_, _ = fmt.Fprintf(c.err, c.program()+": "+format+"\n", arguments...)
	return 1
}

// path returns the absolute path of an argument.
func (c *call) path(name string) string { return resolve(c.dir, name) }

// messageOf returns the message of an error of a file.
func messageOf(err error) string {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return err.Error()
	}
	message := failed.Err.Error()
	return strings.ToUpper(message[:1]) + message[1:]
}

// runScript runs a script in the scope of the call, and returns the exit code of its last command.
func (c *call) runScript(script string) int {
	commands, err := parse(script)
	if err != nil {
		c.status = exitMisuse
		c.fail("%v", err)
		return c.status
	}
	return c.runList(commands)
}

func (c *call) runList(commands list) int {
	for _, command := range commands {
		if c.exited {
			break
		}
		if c.ctx.Err() != nil {
			c.status = exitInterrupted
			break
		}
		if command.operator == "&&" && c.status != 0 || command.operator == "||" && c.status == 0 {
			continue
		}
		c.status = c.runPipeline(command.pipeline)
	}
	return c.status
}

// runPipeline runs commands at once, each with the output of the one before it as its input.
func (c *call) runPipeline(commands []*simple) int {
	if len(commands) == 1 {
		return c.runSimple(commands[0])
	}
	var running sync.WaitGroup
	in, closeInput := c.in, func() {}
	code := 0
	for i, command := range commands {
		part := *c
		part.scope, part.in = c.scope.clone(), in
		done := closeInput
		if i < len(commands)-1 {
			reader, writer := io.Pipe()
			part.out, in = writer, reader
			closeInput = func() { _ = reader.Close() }
			finish := done
			done = func() { _ = writer.Close(); finish() }
		}
		running.Go(func() {
			defer done()
			ended := part.runSimple(command)
			if i == len(commands)-1 {
				code = ended
			}
		})
	}
	running.Wait()
	return code
}

// runSimple runs a command without operators.
func (c *call) runSimple(command *simple) int {
	called := *c
	for _, redirect := range command.redirects {
		if err := called.redirect(redirect); err != nil {
			return c.fail("can't open %s: %s", c.join(redirect.target), strings.ToLower(messageOf(err)))
		}
	}
	called.args = c.expand(command.words)
	if len(called.args) == 0 {
		for _, assigned := range command.assignments {
			c.assign(assigned.name, c.join(assigned.value))
		}
		return 0
	}
	if run, ok := builtins[called.args[0]]; ok {
		return run(&called)
	}
	run, ok := c.host.program(called.args[0], c.dir)
	if !ok {
		c.writeError(called.err, called.args[0]+": not found")
		return exitNotFound
	}
	called.scope = c.scope.clone()
	for _, assigned := range command.assignments {
		called.exported[assigned.name] = c.join(assigned.value)
	}
	called.variables = maps.Clone(called.exported)
	return run(&called)
}

// writeError writes a message of the shell.
func (c *call) writeError(to io.Writer, message string) {
	_, _ = fmt.Fprintf(to, "%s: %s\n", c.program(), message)
}

// assign sets a variable of the shell.
func (c *call) assign(name, value string) {
	c.variables[name] = value
	if _, ok := c.exported[name]; ok {
		c.exported[name] = value
	}
}

func (c *call) redirect(to redirect) error {
	switch to.operator {
	case "2>&1":
		c.err = c.out
		return nil
	case ">&2", "1>&2":
		c.out = c.err
		return nil
	}
	name := c.path(c.join(to.target))
	if to.operator == "<" {
		reader, err := c.open(name)
		c.in = reader
		return err
	}
	writer, err := c.create(name, strings.HasSuffix(to.operator, ">>"))
	if strings.HasPrefix(to.operator, "2") {
		c.err = writer
	} else {
		c.out = writer
	}
	return err
}

// expand returns the arguments that words become.
func (c *call) expand(words []word) (fields []string) {
	for _, word := range words {
		fields = append(fields, c.fields(word)...)
	}
	return fields
}

// fields returns the arguments that a word becomes: its variables that are not quoted are split at spaces.
func (c *call) fields(word word) (fields []string) {
	current, exists := "", false
	end := func() {
		if exists {
			fields = append(fields, current)
		}
		current, exists = "", false
	}
	for _, part := range word {
		switch {
		case !part.variable:
			current, exists = current+part.text, true
		case part.quoted && part.text == "@":
			for i, param := range c.params {
				if i > 0 {
					end()
				}
				current, exists = current+param, true
			}
		case part.quoted:
			current, exists = current+c.value(part.text), true
		default:
			value := c.value(part.text)
			for i, field := range strings.Fields(value) {
				if i > 0 || strings.HasPrefix(value, " ") {
					end()
				}
				current, exists = current+field, true
			}
			if strings.HasSuffix(value, " ") {
				end()
			}
		}
	}
	end()
	return fields
}

// join returns a word as one text.
func (c *call) join(word word) string {
	var joined strings.Builder
	for _, part := range word {
		if part.variable {
			joined.WriteString(c.value(part.text))
		} else {
			joined.WriteString(part.text)
		}
	}
	return joined.String()
}

// value returns the value of a variable or a parameter; "" if it is not set.
func (c *call) value(name string) string {
	switch name {
	case "?":
		return strconv.Itoa(c.status)
	case "#":
		return strconv.Itoa(len(c.params))
	case "@", "*":
		return strings.Join(c.params, " ")
	case "$":
		return "1"
	case "0":
		return c.scope.name
	}
	if index, err := strconv.Atoi(name); err == nil {
		if index > len(c.params) {
			return ""
		}
		return c.params[index-1]
	}
	if name == "PWD" {
		return c.dir
	}
	return c.variables[name]
}
