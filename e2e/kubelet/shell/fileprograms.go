package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

func runLs(c *call) int {
	letters, names := c.flags()
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	for i, name := range names {
		info, err := c.host.Files.stat(c.path(name))
		if err != nil {
			code = c.fail("%s: %s", name, messageOf(err))
			continue
		}
		if !info.Mode.IsDir() || strings.Contains(letters, "d") {
			code = max(code, c.print(describe(info, name, letters)))
			continue
		}
		if len(names) > 1 {
			heading := name + ":\n"
			if i > 0 {
				heading = "\n" + heading
			}
			c.print(heading)
		}
		for _, entry := range c.host.Files.list(info.Path) {
			base := path.Base(entry.Path)
			if strings.HasPrefix(base, ".") && !strings.ContainsAny(letters, "aA") {
				continue
			}
			code = max(code, c.print(describe(entry, base, letters)))
		}
	}
	return code
}

// describe returns the line of a file.
func describe(info Info, name, letters string) string {
	if !strings.Contains(letters, "l") {
		return name + "\n"
	}
	return fmt.Sprintf("%s    1 root     root     %9d %s %s\n", info.Mode, info.Size, info.Modified.UTC().Format("Jan _2 15:04"), name)
}

func runMkdir(c *call) int {
	letters, names := c.flags()
	return c.each(names, func(name string) error {
		if strings.Contains(letters, "p") {
			return c.host.Files.makeAll(c.path(name))
		}
		return c.host.Files.make(c.path(name))
	})
}

func runTouch(c *call) int {
	_, names := c.flags()
	return c.each(names, func(name string) error { return c.host.Files.append(c.path(name), nil) })
}

func runRm(c *call) int {
	letters, names := c.flags()
	return c.each(names, func(name string) error {
		info, err := c.host.Files.stat(c.path(name))
		switch {
		case err != nil && strings.Contains(letters, "f"):
			return nil
		case err == nil && info.Mode.IsDir() && !strings.ContainsAny(letters, "rR"):
			return fmt.Errorf("is a directory")
		case err != nil:
			return err
		}
		return c.host.Files.remove(c.path(name))
	})
}

// each calls act with each name, and returns the exit code.
func (c *call) each(names []string, act func(name string) error) (code int) {
	for _, name := range names {
		if err := act(name); err != nil {
			code = c.fail("can't %s '%s': %s", map[string]string{"mkdir": "create directory", "rm": "remove", "touch": "create"}[c.program()], name, messageOf(err))
		}
	}
	return code
}

// runTest evaluates one condition, which an exclamation mark negates.
func runTest(c *call) int {
	args := slices.Clone(c.args[1:])
	if c.program() == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			c.fail("missing ]")
			return exitMisuse
		}
		args = args[:len(args)-1]
	}
	negated := len(args) > 1 && args[0] == "!"
	if negated {
		args = args[1:]
	}
	holds, ok := c.holds(args)
	switch {
	case !ok:
		c.fail("%s: unknown operand", strings.Join(args, " "))
		return exitMisuse
	case holds == negated:
		return 1
	}
	return 0
}

func (c *call) holds(args []string) (holds, ok bool) {
	switch len(args) {
	case 0:
		return false, true
	case 1:
		return args[0] != "", true
	case 3:
		switch args[1] {
		case "=", "==", "-eq":
			return args[0] == args[2], true
		case "!=", "-ne":
			return args[0] != args[2], true
		}
	case 2:
		info, err := c.host.Files.stat(c.path(args[1]))
		switch args[0] {
		case "-z":
			return args[1] == "", true
		case "-n":
			return args[1] != "", true
		case "-t":
			return c.terminal != nil, true
		case "-e":
			return err == nil, true
		case "-d":
			return err == nil && info.Mode.IsDir(), true
		case "-f":
			return err == nil && info.Mode.IsRegular(), true
		case "-s":
			return err == nil && info.Size > 0, true
		case "-r", "-w", "-x":
			return err == nil, true
		}
	}
	return false, false
}
