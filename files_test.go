package kubeconnect_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// foreignFolders have files that are installed, built or recorded.
var foreignFolders = []string{"node_modules", "bin", "dist", "testdata", "artifacts"}

// kubernetesTypes has the API documentation of Kubernetes, in its words.
const kubernetesTypes = "clients/ts/src/k8s"

// writtenFiles returns the files that people write and whose names have one of the suffixes, by
// their paths in the repository. They include those of its other modules.
func writtenFiles(t *testing.T, suffixes ...string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains(foreignFolders, entry.Name())):
			return fs.SkipDir
		case filepath.ToSlash(name) == kubernetesTypes:
			return fs.SkipDir
		case entry.Type().IsRegular() && slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }):
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
