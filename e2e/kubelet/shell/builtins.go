package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
)

// maxScriptLine bounds a line of a script that is read from the standard input.
const maxScriptLine = 1 << 20

// builtins are the commands of the shell itself, which change it. init sets them, because sh runs them.
var builtins map[string]program

func init() {
	builtins = map[string]program{
		":": func(*call) int { return 0 }, "cd": runCd, "exit": runExit, "export": runExport, "read": runRead,
	}
}

func runCd(c *call) int {
	target := c.variables["HOME"]
	if len(c.args) > 1 {
		target = c.args[1]
	}
	info, err := c.host.Files.stat(c.path(target))
	if err != nil || !info.Mode.IsDir() {
		return c.fail("can't cd to %s", target)
	}
	c.dir = info.Path
	return 0
}

func runExit(c *call) int {
	code := c.status
	if len(c.args) > 1 {
		given, err := strconv.ParseUint(c.args[1], 10, 31)
		if err != nil {
			return c.fail("Illegal number: %s", c.args[1])
		}
		code = int(given & 0xff)
	}
	c.exited = true
	return code
}

func runExport(c *call) int {
	for _, argument := range c.args[1:] {
		name, value, assigns := strings.Cut(argument, "=")
		if !assigns {
			value = c.variables[name]
		}
		c.variables[name], c.exported[name] = value, value
	}
	return 0
}

// runRead reads a line into a variable.
func runRead(c *call) int {
	line, err := readLine(c.in)
	name := "REPLY"
	if len(c.args) > 1 {
		name = c.args[len(c.args)-1]
	}
	c.assign(name, strings.TrimSuffix(line, "\n"))
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case err != nil:
		return 1
	}
	return 0
}

// readLine reads a line and not more, so that the rest remains for other programs.
func readLine(from io.Reader) (string, error) {
	var line []byte
	for next := make([]byte, 1); ; {
		count, err := from.Read(next)
		line = append(line, next[:count]...)
		switch {
		case count > 0 && next[0] == '\n':
			return string(line), nil
		case err != nil:
			return string(line), err
		case len(line) > maxScriptLine:
			return "", errors.New("line too long")
		}
	}
}

// runShell is the program sh.
func runShell(c *call) int {
	args := c.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "-c" {
		args = args[1:] // options such as -i and -l
	}
	c.params, c.status, c.exited = nil, 0, false
	switch {
	case len(args) == 0:
		return c.runInput()
	case args[0] == "-c":
		if len(args) == 1 {
			c.fail("-c requires an argument")
			return exitMisuse
		}
		if len(args) > 2 {
			c.scope.name, c.params = args[2], args[3:]
		}
		return c.runScript(args[1])
	}
	script, err := c.host.Files.ReadFile(c.path(args[0]))
	if err != nil {
		c.fail("can't open '%s': %s", args[0], messageOf(err))
		return exitMisuse
	}
	c.scope.name, c.params = args[0], args[1:]
	return c.runScript(string(script))
}

// runInput runs the lines of the standard input, with a prompt if that is a terminal.
func (c *call) runInput() int {
	if c.terminal != nil {
		before := c.terminal.onInterrupt(func() {})
		defer func() { c.terminal.onInterrupt(before) }()
	}
	script := ""
	for !c.exited && c.ctx.Err() == nil {
		c.prompt(script == "")
		line, err := readLine(c.in)
		script += line
		switch {
		case errors.Is(err, errInterrupted):
			script, c.status = "", exitInterrupted
			continue
		case err != nil && script == "":
			c.prompt(false)
			return c.status
		}
		commands, failed := parse(script)
		if errors.Is(failed, errIncomplete) && err == nil && len(script) < maxScriptLine {
			continue
		}
		script = ""
		if failed != nil {
			c.fail("%v", failed)
			c.status = exitMisuse
			continue
		}
		c.runLine(commands)
	}
	return c.status
}

// prompt writes the prompt of a terminal: for a command, or for its continuation.
func (c *call) prompt(isFirst bool) {
	if c.terminal == nil {
		return
	}
	text := "> "
	if isFirst {
		text = c.dir + " # "
	}
	c.terminal.forgetInterrupt()
	_, _ = io.WriteString(c.err, text)
}

// runLine runs commands, which Ctrl-C ends.
func (c *call) runLine(commands list) {
	if c.terminal == nil {
		c.runList(commands)
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	before := c.terminal.onInterrupt(cancel)
	defer func() { c.terminal.onInterrupt(before) }()
	line := *c
	line.ctx = ctx
	line.runList(commands)
}

// open returns the contents of a file.
func (c *call) open(name string) (io.Reader, error) {
	switch name {
	case devNull:
		return strings.NewReader(""), nil
	case "/dev/zero":
		return zeros{c.ctx}, nil
	case "/dev/stdin":
		return c.in, nil
	}
	data, err := c.host.Files.ReadFile(name)
	return bytes.NewReader(data), err
}

// create returns a writer of a file.
func (c *call) create(name string, appends bool) (io.Writer, error) {
	switch name {
	case devNull:
		return io.Discard, nil
	case "/dev/stdout":
		return c.out, nil
	case "/dev/stderr":
		return c.err, nil
	}
	if !appends {
		if err := c.host.Files.create(name, 0o644); err != nil {
			return nil, err
		}
	}
	writer := fileWriter{c.host.Files, name}
	_, err := writer.Write(nil)
	return writer, err
}

type fileWriter struct {
	files *Files
	name  string
}

// Write implements io.Writer.
func (w fileWriter) Write(data []byte) (int, error) {
	if err := w.files.append(w.name, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// zeros is a file of zeros that ends when its context is done.
type zeros struct{ ctx context.Context }

// Read implements io.Reader.
func (z zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), z.ctx.Err()
}
