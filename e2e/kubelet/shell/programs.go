package shell

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const devNull = "/dev/null"

// programs are the programs in /bin. init sets them, because sh runs them.
var programs map[string]program

func init() {
	programs = map[string]program{
		"[": runTest, "ash": runShell, "cat": runCat, "echo": runEcho, "env": runEnv, "false": func(*call) int { return 1 },
		"head": runHead, "hostname": func(c *call) int { return c.print(c.host.Name + "\n") },
		"id":    func(c *call) int { return c.print("uid=0(root) gid=0(root)\n") },
		"ls":    runLs,
		"mkdir": runMkdir, "printenv": runPrintenv, "printf": runPrintf, "pwd": func(c *call) int { return c.print(c.dir + "\n") },
		"rm": runRm, "seq": runSeq, "sh": runShell, "sha256sum": runSha256sum, "sleep": runSleep, "stty": runStty, "tail": runTail,
		"tar": runTar, "tee": runTee, "test": runTest, "touch": runTouch, "true": func(*call) int { return 0 }, "tty": runTty,
		"wc": runWc, "whoami": func(c *call) int { return c.print("root\n") }, "yes": runYes,
	}
}

// copy copies an input to the standard output, and returns the exit code.
func (c *call) copy(from io.Reader) int {
	switch _, err := io.Copy(c.out, from); {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case err != nil:
		return 1
	}
	return 0
}

// inputs calls read with each file that is named, or with the standard input, and returns the exit code.
func (c *call) inputs(names []string, read func(name string, from io.Reader) int) (code int) {
	if len(names) == 0 {
		return read("", c.in)
	}
	for _, name := range names {
		from, err := c.in, error(nil)
		if name != "-" {
			from, err = c.open(c.path(name))
		}
		if err != nil {
			code = c.fail("can't open '%s': %s", name, messageOf(err))
			continue
		}
		code = max(code, read(name, from))
	}
	return code
}

// flags removes the options, each of one letter, from the arguments.
func (c *call) flags() (letters string, arguments []string) {
	for i, argument := range c.args[1:] {
		if argument == "--" {
			return letters, c.args[i+2:]
		}
		if len(argument) < 2 || argument[0] != '-' {
			return letters, c.args[i+1:]
		}
		letters += argument[1:]
	}
	return letters, nil
}

func runCat(c *call) int {
	_, names := c.flags()
	return c.inputs(names, func(_ string, from io.Reader) int { return c.copy(from) })
}

func runEcho(c *call) int {
	args, end, escapes := c.args[1:], "\n", false
	for ; len(args) > 0 && (args[0] == "-n" || args[0] == "-e" || args[0] == "-ne" || args[0] == "-en"); args = args[1:] {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
	}
	text := strings.Join(args, " ")
	if escapes {
		text = unescape(text)
	}
	return c.print(text + end)
}

// unescape replaces the escape sequences of printf.
func unescape(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\a`, "\a", `\b`, "\b", `\033`, "\x1b", `\0`, "\x00", `\e`, "\x1b").Replace(text)
}

// runPrintf writes its format as often as there are arguments for it.
func runPrintf(c *call) int {
	if len(c.args) < 2 {
		return c.fail("usage: printf FORMAT [ARGUMENT]...")
	}
	format, arguments := unescape(c.args[1]), c.args[2:]
	for {
		text, rest := formatOnce(format, arguments)
		if code := c.print(text); code != 0 || len(rest) == 0 || len(rest) == len(arguments) {
			return code
		}
		arguments = rest
	}
}

func formatOnce(format string, arguments []string) (text string, rest []string) {
	var formatted strings.Builder
	for {
		before, after, found := strings.Cut(format, "%")
		formatted.WriteString(before)
		if !found {
			return formatted.String(), arguments
		}
		verb := strings.IndexAny(after, "sdxc%")
		if verb < 0 {
			return formatted.String() + "%" + after, arguments
		}
		directive := "%" + after[:verb+1]
		format = after[verb+1:]
		argument := ""
		if after[verb] != '%' && len(arguments) > 0 {
			argument, arguments = arguments[0], arguments[1:]
		}
		switch after[verb] {
		case '%':
			formatted.WriteString("%")
		case 's':
			fmt.Fprintf(&formatted, directive, argument)
		case 'c':
			formatted.WriteString(argument[:min(1, len(argument))])
		default:
			number, _ := strconv.ParseInt(argument, 0, 64)
			fmt.Fprintf(&formatted, directive, number)
		}
	}
}

func runEnv(c *call) int { return c.print(lines(c.environ())) }

func runPrintenv(c *call) int {
	if len(c.args) == 1 {
		return runEnv(c)
	}
	value, ok := c.exported[c.args[1]]
	if !ok {
		return 1
	}
	return c.print(value + "\n")
}

// lines returns texts as lines.
func lines(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(texts, "\n") + "\n"
}

// runSleep sleeps for the number of seconds.
func runSleep(c *call) int {
	if len(c.args) != 2 {
		return c.fail("usage: sleep SECONDS")
	}
	var elapsed <-chan time.Time
	if c.args[1] != "infinity" {
		seconds, err := strconv.ParseFloat(strings.TrimSuffix(c.args[1], "s"), 64)
		if err != nil {
			return c.fail("invalid number '%s'", c.args[1])
		}
		timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-elapsed:
		return 0
	case <-c.ctx.Done():
		return exitInterrupted
	}
}

func runSeq(c *call) int {
	first, last := 1, 0
	var err error
	switch len(c.args) {
	case 2:
		last, err = strconv.Atoi(c.args[1])
	case 3:
		first, err = strconv.Atoi(c.args[1])
		if err == nil {
			last, err = strconv.Atoi(c.args[2])
		}
	default:
		return c.fail("usage: seq [FIRST] LAST")
	}
	if err != nil {
		return c.fail("%v", err)
	}
	var text []byte
	for ; first <= last; first++ {
		text = fmt.Appendf(text, "%d\n", first)
		if len(text) > 32<<10 || first == last {
			if _, err := c.out.Write(text); err != nil || c.ctx.Err() != nil {
				return 1
			}
			text = text[:0]
		}
	}
	return 0
}

func runYes(c *call) int {
	word := "y"
	if len(c.args) > 1 {
		word = strings.Join(c.args[1:], " ")
	}
	text := bytes.Repeat([]byte(word+"\n"), 1+4096/(len(word)+1))
	for c.ctx.Err() == nil {
		if _, err := c.out.Write(text); err != nil {
			return 1
		}
	}
	return exitInterrupted
}

func runTty(c *call) int {
	if c.terminal == nil {
		c.print("not a tty\n")
		return 1
	}
	return c.print("/dev/pts/0\n")
}

func runStty(c *call) int {
	if c.terminal == nil {
		return c.fail("standard input: Not a tty")
	}
	size := c.terminal.currentSize()
	if len(c.args) == 2 && c.args[1] == "size" {
		return c.print(fmt.Sprintf("%d %d\n", size.Rows, size.Columns))
	}
	return c.print(fmt.Sprintf("speed 38400 baud; rows %d; columns %d;\n", size.Rows, size.Columns))
}

// count reads the options -n COUNT and -c COUNT, and what begins with a plus sign.
func (c *call) count() (count int, bytes, fromStart bool, names []string, err error) {
	count, names = 10, c.args[1:]
	for len(names) > 0 && len(names[0]) > 1 && names[0][0] == '-' {
		option, value := names[0][1:2], names[0][2:]
		names = names[1:]
		switch {
		case option[0] >= '0' && option[0] <= '9':
			option, value = "n", option+value
		case value == "" && len(names) > 0:
			value, names = names[0], names[1:]
		}
		if option != "n" && option != "c" {
			return 0, false, false, nil, fmt.Errorf("unrecognized option: %s", option)
		}
		bytes, fromStart = option == "c", strings.HasPrefix(value, "+")
		if count, err = strconv.Atoi(strings.TrimPrefix(value, "+")); err != nil {
			return 0, false, false, nil, fmt.Errorf("invalid number '%s'", value)
		}
	}
	return count, bytes, fromStart, names, nil
}

func runHead(c *call) int {
	count, isBytes, _, names, err := c.count()
	if err != nil {
		return c.fail("%v", err)
	}
	return c.inputs(names, func(_ string, from io.Reader) int {
		if isBytes {
			return c.copy(io.LimitReader(from, int64(count)))
		}
		for range count {
			line, err := readLine(from)
			if code := c.print(line); code != 0 || err != nil {
				return code
			}
		}
		return 0
	})
}

func runTail(c *call) int {
	count, isBytes, fromStart, names, err := c.count()
	if err != nil {
		return c.fail("%v", err)
	}
	return c.inputs(names, func(_ string, from io.Reader) int {
		if isBytes && fromStart {
			if _, err := io.CopyN(io.Discard, from, int64(max(0, count-1))); err != nil {
				return 0
			}
			return c.copy(from)
		}
		data, err := io.ReadAll(io.LimitReader(from, defaultMaxBytes))
		if err != nil {
			return 1
		}
		parts := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
		switch {
		case isBytes:
			return c.print(string(data[max(0, len(data)-count):]))
		case fromStart:
			parts = parts[min(len(parts), max(0, count-1)):]
		default:
			parts = parts[max(0, len(parts)-count):]
		}
		text := bytes.Join(parts, nil)
		if len(text) > 0 && bytes.HasSuffix(data, []byte("\n")) {
			text = append(bytes.Clone(text), '\n')
		}
		return c.print(string(text))
	})
}

// runWc counts lines, words and bytes.
func runWc(c *call) int {
	letters, names := c.flags()
	if letters == "" {
		letters = "lwc"
	}
	return c.inputs(names, func(name string, from io.Reader) int {
		data := &counter{}
		if _, err := io.Copy(data, from); err != nil {
			return 1
		}
		var fields []string
		for i, letter := range "lwc" {
			if strings.ContainsRune(letters, letter) {
				fields = append(fields, strconv.Itoa([]int{data.lines, data.words, data.bytes}[i]))
			}
		}
		return c.print(strings.TrimSpace(strings.Join(append(fields, name), " ")) + "\n")
	})
}

// counter counts what is written to it.
type counter struct {
	lines, words, bytes int
	inWord              bool
}

// Write implements io.Writer.
func (w *counter) Write(text []byte) (int, error) {
	for _, c := range text {
		isSpace := c == ' ' || c >= '\t' && c <= '\r'
		if !isSpace && !w.inWord {
			w.words++
		}
		w.inWord = !isSpace
		if c == '\n' {
			w.lines++
		}
	}
	w.bytes += len(text)
	return len(text), nil
}

func runSha256sum(c *call) int {
	_, names := c.flags()
	return c.inputs(names, func(name string, from io.Reader) int {
		sum := sha256.New()
		if _, err := io.Copy(sum, from); err != nil {
			return 1
		}
		if name == "" {
			name = "-"
		}
		return c.print(fmt.Sprintf("%x  %s\n", sum.Sum(nil), name))
	})
}

func runTee(c *call) int {
	letters, names := c.flags()
	writers := []io.Writer{c.out}
	for _, name := range names {
		writer, err := c.create(c.path(name), strings.Contains(letters, "a"))
		if err != nil {
			return c.fail("%s: %s", name, messageOf(err))
		}
		writers = append(writers, writer)
	}
	both := *c
	both.out = io.MultiWriter(writers...)
	return both.copy(c.in)
}
