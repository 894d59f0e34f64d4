package shell

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"
	"time"
)

// archiver is one call of tar.
type archiver struct {
	*call
	mode      byte // c, x or t
	file      string
	dir       string
	touches   bool // extracted files have the present time
	verbose   bool
	names     []string
	hasFailed bool
}

func runTar(c *call) int {
	a := &archiver{call: c, file: "-", dir: c.dir}
	if err := a.parse(c.args[1:]); err != nil {
		return c.fail("%v", err)
	}
	var err error
	switch a.mode {
	case 'c':
		err = a.create()
	case 'x', 't':
		err = a.extract()
	default:
		return c.fail("must specify one of -c, -x, -t")
	}
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case err != nil:
		return c.fail("%s", messageOf(err))
	case a.hasFailed:
		return c.fail("error exit delayed from previous errors")
	}
	return 0
}

// parse reads the arguments. The first needs no dash.
func (a *archiver) parse(args []string) error {
	for first := true; len(args) > 0; first = false {
		argument := args[0]
		args = args[1:]
		switch {
		case strings.HasPrefix(argument, "--"): // such as --no-same-owner
			continue
		case !first && (argument == "-" || !strings.HasPrefix(argument, "-")):
			a.names = append(a.names, argument)
			continue
		}
		for _, letter := range strings.TrimPrefix(argument, "-") {
			switch letter {
			case 'c', 'x', 't':
				a.mode = byte(letter)
			case 'm':
				a.touches = true
			case 'v':
				a.verbose = true
			case 'o', 'p':
			case 'f', 'C':
				if len(args) == 0 {
					return errors.New("option requires an argument -- " + string(letter))
				}
				if letter == 'f' {
					a.file = args[0]
				} else {
					a.dir = a.path(args[0])
				}
				args = args[1:]
			default:
				return errors.New("unrecognized option: " + string(letter))
			}
		}
	}
	return nil
}

// report reports a failure after which the other files are handled.
func (a *archiver) report(name string, err error) {
	a.fail("%s: %s", name, messageOf(err))
	a.hasFailed = true
}

func (a *archiver) create() error {
	out := a.out
	if a.file != "-" {
		file, err := a.call.create(a.path(a.file), false)
		if err != nil {
			return err
		}
		out = file
	}
	archive := tar.NewWriter(out)
	for _, name := range a.names {
		info, err := a.host.Files.stat(resolve(a.dir, name))
		if err != nil {
			a.report(name, err)
			continue
		}
		if path.IsAbs(name) {
			a.call.fail("removing leading '/' from member names")
		}
		if err := a.add(archive, info, strings.TrimLeft(path.Clean(name), "/")); err != nil {
			return err
		}
	}
	return archive.Close()
}

// add adds a file, or a directory with all that it has.
func (a *archiver) add(archive *tar.Writer, info Info, name string) error {
	if name == "" {
		name = "."
	}
	header := &tar.Header{Name: name, Mode: int64(info.Mode.Perm()), ModTime: info.Modified.Truncate(time.Second), Uname: "root", Gname: "root"}
	if info.Mode.IsDir() {
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		for _, entry := range a.host.Files.list(info.Path) {
			if err := a.add(archive, entry, path.Join(name, path.Base(entry.Path))); err != nil {
				return err
			}
		}
		return nil
	}
	data, err := a.host.Files.ReadFile(info.Path)
	if err != nil { // it was removed
		return nil
	}
	header.Typeflag, header.Size = tar.TypeReg, int64(len(data))
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}

func (a *archiver) extract() error {
	if info, err := a.host.Files.stat(a.dir); err != nil || !info.Mode.IsDir() {
		return errors.New("can't change directory to '" + a.dir + "': No such file or directory")
	}
	in := a.in
	if a.file != "-" {
		file, err := a.open(a.path(a.file))
		if err != nil {
			return err
		}
		in = file
	}
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, in) // so that the writer of the archive can end
			return err
		}
		if err != nil {
			return err
		}
		if a.verbose || a.mode == 't' {
			a.print(header.Name + "\n")
		}
		if a.mode == 'x' {
			if err := a.extractOne(archive, header); err != nil {
				a.report(header.Name, err)
			}
		}
	}
}

func (a *archiver) extractOne(archive io.Reader, header *tar.Header) error {
	name := resolve(a.dir, strings.TrimLeft(header.Name, "/"))
	files := a.host.Files
	switch header.Typeflag {
	case tar.TypeDir:
		if err := files.makeAll(name); err != nil {
			return err
		}
	case tar.TypeReg:
		if err := files.makeAll(path.Dir(name)); err != nil {
			return err
		}
		if err := files.create(name, header.FileInfo().Mode().Perm()); err != nil {
			return err
		}
		if _, err := io.Copy(fileWriter{files, name}, archive); err != nil {
			return err
		}
	default:
		return errors.New("only files and directories can be extracted")
	}
	modified := header.ModTime
	if a.touches {
		modified = files.now()
	}
	files.set(name, header.FileInfo().Mode(), modified)
	return nil
}
