// Package shell simulates what runs in a container: a shell and some programs, on files in memory.
//
// Nothing of it is executed by the machine, and no file of the machine is read or written. A [Host] has what the
// processes of one container share, and [Host.Run] is one process:
//
//	host := shell.NewHost("web-1", time.Now())
//	err := host.Run(ctx, []string{"sh", "-c", "echo hello > /tmp/a; cat /tmp/a; exit 3"}, stdio)
//
// The output depends only on the command, its input and the files. Messages are those of busybox, and the error for a
// program that does not exist is that of containerd.
//
// The shell has lists (; && ||), pipelines, redirections (< > >> 2> 2>&1), quotes, comments, variables, $? and the
// positional parameters; it has no loops, conditions, functions, patterns, command substitution or jobs. It is
// interactive on a terminal, with a prompt. Without one it reads a script. A terminal echoes what is typed, edits the
// line (Backspace, Ctrl-U), interrupts with Ctrl-C and ends the input with Ctrl-D.
//
// `ls /bin` lists the programs. There is no bash, so that clients can be tested with an image that does not have it.
package shell
