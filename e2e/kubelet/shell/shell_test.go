package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kubeconnect/kubeconnect/e2e/kubelet/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var started = time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)

func newHost(t *testing.T) *Host {
	t.Helper()
	host := NewHost("web-1", started)
	for name, text := range map[string]string{"/etc/motd": "welcome\n", "/srv/a": "first\n", "/srv/deep/b": "second\n"} {
		if err := host.Files.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return host
}

// runWith runs a command with a standard input, and returns its output and its exit code.
func runWith(t *testing.T, host *Host, input string, command ...string) (out, stderr string, code int) {
	t.Helper()
	var stdout, errors bytes.Buffer
	err := host.Run(t.Context(), command, process.Stdio{In: io.NopCloser(strings.NewReader(input)), Out: &stdout, Err: &errors})
	return stdout.String(), errors.String(), codeOf(t, err)
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	code := process.ExitError(0)
	if err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	return int(code)
}

func TestShell_RunsScripts(t *testing.T) {
	for name, test := range map[string]struct {
		script, input, out, stderr string
		code                       int
	}{
		"words":                         {script: `echo a  'b  c' "d  e" f\ g`, out: "a b  c d  e f g\n"},
		"a list":                        {script: "echo a; echo b\necho c # comment", out: "a\nb\nc\n"},
		"and, or":                       {script: "true && echo a; false && echo b; false || echo c; true || echo d", out: "a\nc\n"},
		"an exit code":                  {script: "echo a; exit 3; echo b", out: "a\n", code: 3},
		"the code of the last command":  {script: "true; false", code: 1},
		"exit keeps the last code":      {script: "false; exit", code: 1},
		"status":                        {script: "sh -c 'exit 7'; echo $?", out: "7\n"},
		"variables":                     {script: `A='x  y'; echo $A "$A" ${A}z "\$A"`, out: "x y x  y x yz $A\n"},
		"an empty variable is no word":  {script: `printf '<%s>' $NONE "$NONE" a`, out: "<><a>"},
		"an exported variable":          {script: "A=1; export B=2; C=3 printenv C; printenv A || printenv B", out: "3\n2\n"},
		"parameters":                    {script: `sh -c 'echo $0 $# $2 "$@"' name 'a b' c`, out: "name 2 c a b c\n"},
		"redirections":                  {script: "echo a > /tmp/x; echo b >> /tmp/x; cat < /tmp/x; echo c > /tmp/x; cat /tmp/x", out: "a\nb\nc\n"},
		"stderr is apart":               {script: "echo out; echo err >&2", out: "out\n", stderr: "err\n"},
		"stderr into stdout":            {script: "cat /none 2>&1", out: "cat: can't open '/none': No such file or directory\n", code: 1},
		"stderr into a file":            {script: "cat /none 2>/tmp/e; cat /tmp/e", out: "cat: can't open '/none': No such file or directory\n"},
		"an unknown command":            {script: "nope; echo $?; nope", out: "127\n", stderr: "sh: nope: not found\nsh: nope: not found\n", code: 127},
		"a pipeline":                    {script: "seq 3 | tail -n 2 | wc -l", out: "2\n"},
		"a pipeline without an end":     {script: "yes | head -n 2", out: "y\ny\n"},
		"much output":                   {script: "head -c 5000000 /dev/zero | wc -c", out: "5000000\n"},
		"the code of a pipeline":        {script: "false | true; echo $?; true | sh -c 'exit 4'", out: "0\n", code: 4},
		"cd":                            {script: "cd /srv/deep; pwd; cat b ../a; cd; pwd; cd /none", out: "/srv/deep\nsecond\nfirst\n/root\n", stderr: "cd: can't cd to /none\n", code: 1},
		"stdin of a program":            {script: "cat; echo end", input: "a\nb", out: "a\nbend\n"},
		"read takes one line":           {script: "read x; echo got $x; cat", input: "one\ntwo\n", out: "got one\ntwo\n"},
		"no terminal":                   {script: "tty; stty size", out: "not a tty\n", stderr: "stty: standard input: Not a tty\n", code: 1},
		"a directory is no file":        {script: "cat /srv; echo > /srv", stderr: "cat: can't open '/srv': Is a directory\nsh: can't open /srv: is a directory\n", code: 1},
		"a file is no directory":        {script: "echo > /srv/a/b", stderr: "sh: can't open /srv/a/b: not a directory\n", code: 1},
		"test":                          {script: "test -d /srv && test -f /srv/a && [ ! -e /none ] && [ a = a ] && echo yes", out: "yes\n"},
		"ls":                            {script: "ls /srv; ls -d /srv; ls /none", out: "a\ndeep\n/srv\n", stderr: "ls: /none: No such file or directory\n", code: 1},
		"mkdir, touch and rm":           {script: "mkdir /tmp/d; mkdir -p /tmp/e/f; touch /tmp/d/x; ls /tmp; rm /tmp/d; rm -r /tmp/d /tmp/e; rm -f /tmp/d; ls /tmp", out: "d\ne\n", stderr: "rm: can't remove '/tmp/d': is a directory\n"},
		"printf":                        {script: `printf '%s=%03d%%\n' a 1 b 22`, out: "a=001%\nb=022%\n"},
		"echo without an end":           {script: `echo -n a; echo -e '\tb'`, out: "a\tb\n"},
		"a checksum":                    {script: "sha256sum /srv/a", out: "b640e840b19d378660b32fb51ae18d67dccb4a8596a29e7bd72c1b2ae5928f41  /srv/a\n"},
		"tail from a byte":              {script: "tail -c+4 /srv/a; tail -c 2 /srv/a", out: "st\nt\n"},
		"tee":                           {script: "echo a | tee /tmp/t; cat /tmp/t", out: "a\na\n"},
		"a syntax error":                {script: "echo a; && b", stderr: "sh: syntax error: unexpected \"&&\"\n", code: 2},
		"an open quote":                 {script: "echo 'a", stderr: "sh: syntax error: unexpected end of file\n", code: 2},
		"what the shell does not have":  {script: "echo $(pwd)", stderr: "sh: syntax error: unexpected '('\n", code: 2},
		"a script file":                 {script: "printf 'echo $1\\nexit 5' > /tmp/s; sh /tmp/s a", out: "a\n", code: 5},
		"a program by its path":         {script: "/bin/echo a; /sbin/echo b", out: "a\n", stderr: "sh: /sbin/echo: not found\n", code: 127},
		"exit in a pipeline is its own": {script: "exit 3 | true; echo a", out: "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := runWith(t, newHost(t), test.input, "sh", "-c", test.script)
			if out != test.out || stderr != test.stderr || code != test.code {
				t.Errorf("got %q, %q, %d; want %q, %q, %d", out, stderr, code, test.out, test.stderr, test.code)
			}
		})
	}
}

func TestHost_RunsProgramsAndScriptsOfTheInput(t *testing.T) {
	host := newHost(t)
	for name, test := range map[string]struct {
		command    []string
		input, out string
		code       int
	}{
		"a program":                   {command: []string{"echo", "a  b", "$HOME", ";"}, out: "a  b $HOME ;\n"},
		"its environment":             {command: []string{"env"}, out: "HOME=/root\nHOSTNAME=web-1\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"},
		"the script on the input":     {command: []string{"sh"}, input: "read x\nvalue\necho $x\nexit 4\necho b\n", out: "value\n", code: 4},
		"a quote on several lines":    {command: []string{"/bin/sh"}, input: "echo 'a\nb' |\ncat", out: "a\nb\n"},
		"its files are those of all":  {command: []string{"cat", "/etc/motd", "/etc/hostname"}, out: "welcome\nweb-1\n"},
		"the input of another script": {command: []string{"sh", "-c", "cat; cat"}, input: "a", out: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := runWith(t, host, test.input, test.command...)
			if out != test.out || stderr != "" || code != test.code {
				t.Errorf("got %q, %q, %d; want %q, %d", out, stderr, code, test.out, test.code)
			}
		})
	}
}

func TestHost_MissingProgramIsAnErrorOfTheRuntime(t *testing.T) {
	for command, want := range map[string]string{
		"bash":      `exec: "bash": executable file not found in $PATH: unknown`,
		"/opt/run":  `exec: "/opt/run": stat /opt/run: no such file or directory: unknown`,
		"/etc/motd": `exec: "/etc/motd": stat /etc/motd: no such file or directory: unknown`,
		"cd":        `exec: "cd": executable file not found in $PATH: unknown`,
	} {
		err := newHost(t).Run(t.Context(), []string{command}, process.Stdio{Out: io.Discard})
		if code := process.ExitError(0); err == nil || errors.As(err, &code) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestHost_ProcessesEndWithTheirContext(t *testing.T) {
	for _, script := range []string{"sleep infinity", "cat", "sleep infinity | cat", "yes > /dev/null", "cat /dev/zero | cat > /dev/null", "read x"} {
		t.Run(script, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in, input := io.Pipe()
			defer func() { _ = input.Close() }()
			running := newScreen()
			ended := make(chan error, 1)
			go func() {
				ended <- newHost(t).Run(ctx, []string{"sh", "-c", "echo running; " + script}, process.Stdio{In: in, Out: running})
			}()
			running.until(t, "running\n")
			cancel()
			if err := <-ended; err == nil {
				t.Error("an interrupted command has no exit code")
			}
		})
	}
}

func TestFiles_AreBounded(t *testing.T) {
	host := newHost(t)
	host.Files.SetMaxBytes(1000)
	_, stderr, code := runWith(t, host, "", "sh", "-c", "cat /dev/zero > /tmp/x")
	if data, err := host.Files.ReadFile("/tmp/x"); err != nil || len(data) > 1000 || code != 1 {
		t.Errorf("%d bytes, %v, %q, %d", len(data), err, stderr, code)
	}
	if err := host.Files.WriteFile("/tmp/y", make([]byte, 1001)); err == nil {
		t.Error("a larger file was written")
	}
	if _, _, code := runWith(t, host, "", "sh", "-c", "rm /tmp/x; echo a > /tmp/z"); code != 0 {
		t.Error("the space of a removed file is not free")
	}
}

func TestTar_CopiesFilesAndDirectories(t *testing.T) {
	from, to := newHost(t), newHost(t)
	archive, stderr, code := runWith(t, from, "", "tar", "cf", "-", "/srv", "/none")
	if code != 1 || !strings.Contains(stderr, "tar: /none: No such file or directory") || !strings.Contains(stderr, "removing leading '/'") {
		t.Errorf("%q, %d", stderr, code)
	}
	if _, stderr, code := runWith(t, to, archive, "tar", "--no-same-owner", "-xmf", "-", "-C", "/tmp"); code != 0 || stderr != "" {
		t.Fatalf("%q, %d", stderr, code)
	}
	for name, want := range map[string]string{"/tmp/srv/a": "first\n", "/tmp/srv/deep/b": "second\n"} {
		if data, err := to.Files.ReadFile(name); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if out, _, _ := runWith(t, to, archive, "tar", "tf", "-"); out != "srv/\nsrv/a\nsrv/deep/\nsrv/deep/b\n" {
		t.Errorf("listed %q", out)
	}
	if _, stderr, code := runWith(t, to, archive[:700], "tar", "xf", "-"); code != 1 || !strings.Contains(stderr, "unexpected EOF") {
		t.Errorf("a part of an archive: %q, %d", stderr, code)
	}
	if _, stderr, code := runWith(t, to, archive, "tar", "xf", "-", "-C", "/none"); code != 1 || !strings.Contains(stderr, "can't change directory to '/none'") {
		t.Errorf("a directory that does not exist: %q, %d", stderr, code)
	}
}

// screen is what a terminal shows.
type screen struct {
	mu      sync.Mutex // guards text
	changed *sync.Cond // at mu
	text    string
}

func newScreen() *screen {
	s := &screen{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Write implements io.Writer.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(text)
	s.changed.Broadcast()
	return len(text), nil
}

// until blocks until a text is shown after that of the last call.
func (s *screen) until(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _, _ = s.Write(nil) })()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.text, text) {
		if ctx.Err() != nil {
			t.Fatalf("the screen shows %q, and never %q", s.text, text)
		}
		s.changed.Wait()
	}
	_, s.text, _ = strings.Cut(s.text, text)
}

// session is a command at a terminal.
type session struct {
	*screen
	t     *testing.T
	keys  *io.PipeWriter
	sizes chan process.Size
	ended chan error
}

func startSession(t *testing.T, host *Host, command ...string) *session {
	t.Helper()
	in, keys := io.Pipe()
	s := &session{screen: newScreen(), t: t, keys: keys, sizes: make(chan process.Size), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	nextSize := func(ctx context.Context) (process.Size, bool) {
		select {
		case size := <-s.sizes:
			return size, true
		case <-ctx.Done():
			return process.Size{}, false
		}
	}
	var running sync.WaitGroup
	running.Go(func() {
		s.ended <- host.Run(ctx, command, process.Stdio{In: in, Out: s.screen, TTY: true, NextSize: nextSize})
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

func (s *session) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

func TestTerminal_IsInteractive(t *testing.T) {
	s := startSession(t, newHost(t), "sh")
	s.until(t, "/ # ")
	for _, step := range []struct{ keys, shown string }{
		{"echo hi\r", "echo hi\r\nhi\r\n/ # "},
		{"tty\r", "tty\r\n/dev/pts/0\r\n/ # "},
		{"echo ab\x7fc\r", "echo ab\b \bc\r\nac\r\n/ # "},
		{"wrong\x15pwd\r", "wrong\b \b\b \b\b \b\b \b\b \bpwd\r\n/\r\n/ # "},
		{"\x1b[A\x1bOBcd /srv\r", "cd /srv\r\n/srv # "},
		{"ec\x03", "ec^C\r\n/srv # "},
		{"echo $?\r", "echo $?\r\n130\r\n/srv # "},
		{"sleep infinity\r", "sleep infinity\r\n"},
		{"\x03", "^C\r\n/srv # "},
		{"cat\r", "cat\r\n"},
		{"a\r", "a\r\na\r\n"},
		{"\x04", "/srv # "},
		{"cat\r\x03", "cat\r\n^C\r\n/srv # "},
		{"sh -c 'sleep infinity; echo a'\r", "a'\r\n"},
		{"\x03", "^C\r\n/srv # "},
		{"echo 'a\r", "> "},
		{"b'\r", "b'\r\na\r\nb\r\n/srv # "},
		{"sh\r", "/srv # "},
		{"exit 3\r", "/srv # "},
		{"echo $?; nope\r", "3\r\nsh: nope: not found\r\n/srv # "},
	} {
		s.press(step.keys)
		s.until(t, step.shown)
	}
	s.press("exit 9\r")
	if code := codeOf(t, <-s.ended); code != 9 {
		t.Errorf("exit code %d", code)
	}
}

func TestTerminal_EndOfInputEndsTheShell(t *testing.T) {
	for name, end := range map[string]func(*session){
		"Ctrl-D":                 func(s *session) { s.press("\x04") },
		"the client disconnects": func(s *session) { _ = s.keys.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := startSession(t, newHost(t), "sh")
			s.until(t, "/ # ")
			end(s)
			if err := <-s.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTerminal_InterruptEndsTheCommand(t *testing.T) {
	s := startSession(t, newHost(t), "sh", "-c", "echo running; cat; echo more")
	s.until(t, "running\r\n")
	s.press("\x03")
	if code := codeOf(t, <-s.ended); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestTerminal_HasTheSizeOfTheClient(t *testing.T) {
	s := startSession(t, newHost(t), "sh")
	s.until(t, "/ # ")
	// When the last one is received, the one before it has been set.
	for _, size := range []process.Size{{Columns: 80, Rows: 24}, {Columns: 132, Rows: 43}, {Columns: 132, Rows: 43}} {
		s.sizes <- size
	}
	s.press("stty size\r")
	s.until(t, "43 132\r\n/ # ")
}

func FuzzShell_EndsWithoutPanic(f *testing.F) {
	for _, script := range []string{"echo a | cat > /x; cat < /x 2>&1", `A="b $c" d\ e; ${`, "head -c 10 /dev/zero | wc", "printf '%d%5s' 3", "tar cf - / | tar tf -"} {
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, endless := range []string{"yes", "sleep", "/dev", "seq", "%"} {
			if strings.Contains(script, endless) {
				t.Skip("it can take any time")
			}
		}
		_ = NewHost("fuzz", started).Run(t.Context(), []string{"sh", "-c", script}, process.Stdio{Out: io.Discard, Err: io.Discard})
	})
}
