package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// root returns the root of the checkout that contains the working directory.
func root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "buf.yaml")); err == nil {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("the working directory is not in a checkout of kubeconnect")
		}
		folder = above
	}
}

// Path returns the absolute path of a file of the checkout.
func Path(elements ...string) (string, error) {
	checkout, err := root()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{checkout}, elements...)...), nil
}

// Artifacts returns the path of the directory for what failed tests leave behind, and for screenshots.
func Artifacts() (string, error) { return Path("e2e", "artifacts") }

// Binary returns the absolute path of a program that make builds: the value of the environment
// variable, or bin/name in the checkout if the variable is empty.
func Binary(variable, name string) (string, error) {
	path, err := filepath.Abs(os.Getenv(variable))
	if os.Getenv(variable) == "" {
		path, err = Path("bin", name)
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s not found: run `make build`, or set %s (%w)", path, variable, err)
	}
	return path, nil
}
