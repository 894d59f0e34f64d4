package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the root of the checkout.
const root = "../.."

// commit is an invalid commit, for builds of what is in the folder.
const commit = "0123456789abcdef0123456789abcdef01234567"

const epoch = "1700000000"

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copySource copies what the service is built from into a new folder: the tracked files, and the
// console.
func copySource(t *testing.T) source {
	t.Helper()
	folder := t.TempDir()
	command := exec.Command("git", "ls-files", "-z", "--", ":!e2e", ":!bench", ":!clients/python", ":!clients/ts", ":!docs")
	command.Dir = root
	listed, err := command.Output()
	succeeds(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		copyFile(t, name, folder)
	}
	console := filepath.Join("clients", "web", "dist")
	succeeds(t, filepath.WalkDir(filepath.Join(root, console), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, err := filepath.Rel(root, path)
			succeeds(t, err)
			copyFile(t, name, folder)
		}
		return err
	}))
	copied, err := readSource(folder, commit, epoch)
	succeeds(t, err)
	return copied
}

// copyFile copies a file of the checkout, unless it was deleted and is still tracked.
func copyFile(t *testing.T, name, folder string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if os.IsNotExist(err) {
		return
	}
	succeeds(t, err)
	path := filepath.Join(folder, name)
	succeeds(t, os.MkdirAll(filepath.Dir(path), 0o755))
	succeeds(t, os.WriteFile(path, content, 0o644))
}

func TestReadSource_NeedsTheTimeOfTheCommit(t *testing.T) {
	t.Parallel()
	if _, err := readSource(root, commit, "today"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("error %v", err)
	}
}

func TestReadSource_NeedsTheConsole(t *testing.T) {
	t.Parallel()
	if _, err := readSource(t.TempDir(), commit, epoch); err == nil || !strings.Contains(err.Error(), "make console") {
		t.Errorf("error %v", err)
	}
}
