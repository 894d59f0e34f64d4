package harness

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the top of the checkout, as seen from the folder of the tests.
const Root = ".."

// Binary returns the path of a program that make builds: the one in the environment
// variable, else bin/name.
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
		return "", fmt.Errorf("there is no %s: run `make build`, or set %s (%w)", path, variable, err)
	}
	return path, nil
}
