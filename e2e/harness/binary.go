package harness

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the root of the checkout, relative to the directory of the tests.
const Root = ".."

// Binary returns the path of a program that make builds: the value of the environment variable, or
// bin/name if the variable is empty.
func Binary(variable, name string) (string, error) {
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join(Root, "bin", name)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s not found: run `make build`, or set %s (%w)", path, variable, err)
	}
	return path, nil
}
