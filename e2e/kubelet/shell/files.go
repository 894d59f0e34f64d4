package shell

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// defaultMaxBytes bounds the contents of the files of a container.
const defaultMaxBytes = 64 << 20

// Files is the file system of a container: directories and regular files in memory. Paths are absolute. Errors are
// of type *[fs.PathError]. Its methods are safe for concurrent use.
type Files struct {
	now func() time.Time

	mu       sync.Mutex // guards the fields below
	nodes    map[string]*node
	bytes    int
	maxBytes int
}

// node is a file or a directory. Its data are only appended to or replaced, so that a slice of them can be read
// without the lock.
type node struct {
	mode     fs.FileMode
	data     []byte
	modified time.Time
}

// Info describes a file.
type Info struct {
	Path     string
	Mode     fs.FileMode
	Size     int
	Modified time.Time
}

func newFiles(created time.Time) *Files {
	files := &Files{now: time.Now, nodes: map[string]*node{}, maxBytes: defaultMaxBytes}
	for _, dir := range []string{"/", "/bin", "/dev", "/etc", "/home", "/root", "/tmp", "/var"} {
		files.nodes[dir] = &node{mode: fs.ModeDir | 0o755, modified: created}
	}
	return files
}

// SetMaxBytes sets the maximum size of all contents.
func (f *Files) SetMaxBytes(limit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maxBytes = limit
}

// ReadFile returns the contents of a file, which must not be changed.
func (f *Files) ReadFile(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.findLocked("open", name)
	switch {
	case err != nil:
		return nil, err
	case found.mode.IsDir():
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	}
	return found.data, nil
}

// WriteFile writes a file, with the directories above it.
func (f *Files) WriteFile(name string, data []byte) error {
	if err := f.makeAll(path.Dir(name)); err != nil {
		return err
	}
	if err := f.create(name, 0o644); err != nil {
		return err
	}
	return f.append(name, data)
}

// create makes an empty file, or empties one that exists.
func (f *Files) create(name string, mode fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found, ok := f.nodes[name]; ok {
		if found.mode.IsDir() {
			return &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
		}
		f.bytes -= len(found.data)
		found.data, found.modified = nil, f.now()
		return nil
	}
	return f.addLocked("open", name, mode)
}

// addLocked adds an empty file or directory.
func (f *Files) addLocked(operation, name string, mode fs.FileMode) error {
	parent, err := f.findLocked(operation, path.Dir(name))
	switch {
	case err != nil:
		return &fs.PathError{Op: operation, Path: name, Err: err.(*fs.PathError).Err}
	case !parent.mode.IsDir():
		return &fs.PathError{Op: operation, Path: name, Err: syscall.ENOTDIR}
	}
	f.nodes[name] = &node{mode: mode, modified: f.now()}
	return nil
}

// append appends to a file, which is created if it does not exist.
func (f *Files) append(name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.nodes[name]; !ok {
		if err := f.addLocked("open", name, 0o644); err != nil {
			return err
		}
	}
	found := f.nodes[name]
	switch {
	case found.mode.IsDir():
		return &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case f.bytes+len(data) > f.maxBytes:
		return &fs.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	found.data, found.modified = append(found.data, data...), f.now()
	f.bytes += len(data)
	return nil
}

// set sets what an archive has besides the contents.
func (f *Files) set(name string, mode fs.FileMode, modified time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found, ok := f.nodes[name]; ok {
		found.mode, found.modified = found.mode.Type()|mode.Perm(), modified
	}
}

// make makes a directory.
func (f *Files) make(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.nodes[name]; ok {
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
	}
	return f.addLocked("mkdir", name, fs.ModeDir|0o755)
}

// makeAll makes a directory and those above it, unless they exist.
func (f *Files) makeAll(name string) error {
	if info, err := f.stat(name); err == nil {
		if !info.Mode.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if err := f.makeAll(path.Dir(name)); err != nil {
		return err
	}
	return f.make(name)
}

// remove removes a file or a directory with all below it.
func (f *Files) remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.findLocked("remove", name); err != nil {
		return err
	}
	for below, found := range f.nodes {
		if below == name || strings.HasPrefix(below, strings.TrimSuffix(name, "/")+"/") {
			f.bytes -= len(found.data)
			delete(f.nodes, below)
		}
	}
	return nil
}

func (f *Files) stat(name string) (Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.findLocked("stat", name)
	if err != nil {
		return Info{}, err
	}
	return found.info(name), nil
}

// list returns what a directory has, in the order of the names.
func (f *Files) list(name string) []Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	var infos []Info
	for _, below := range slices.Sorted(maps.Keys(f.nodes)) {
		if below != "/" && path.Dir(below) == name {
			infos = append(infos, f.nodes[below].info(below))
		}
	}
	return infos
}

func (f *Files) findLocked(operation, name string) (*node, error) {
	found, ok := f.nodes[name]
	if ok {
		return found, nil
	}
	cause := syscall.ENOENT
	for above := path.Dir(name); above != "/"; above = path.Dir(above) {
		if existing, ok := f.nodes[above]; ok && !existing.mode.IsDir() {
			cause = syscall.ENOTDIR
		}
	}
	return nil, &fs.PathError{Op: operation, Path: name, Err: cause}
}

func (n *node) info(name string) Info {
	return Info{Path: name, Mode: n.mode, Size: len(n.data), Modified: n.modified}
}
