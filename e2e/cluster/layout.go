package main

import (
	"os"
	"path/filepath"
)

// layout is the cluster's directory, and knows where everything in it lies.
type layout string

func (l layout) kubeconfig() string      { return filepath.Join(string(l), "kubeconfig") }
func (l layout) ports() string           { return filepath.Join(string(l), "ports.json") }
func (l layout) lock() string            { return filepath.Join(string(l), "run", "lock") }
func (l layout) etcdData() string        { return filepath.Join(string(l), "etcd") }
func (l layout) pki(file string) string  { return filepath.Join(string(l), "pki", file) }
func (l layout) log(name string) string  { return filepath.Join(string(l), "logs", name+".log") }
func (l layout) pid(name string) string  { return filepath.Join(string(l), "run", name+".pid") }
func (l layout) user(name string) string { return filepath.Join(string(l), "run", name+".kubeconfig") }

// make creates the folders. They hold private keys, so they are the owner's alone.
func (l layout) make() error {
	for _, folder := range []string{"etcd", "logs", "pki", "run"} {
		if err := os.MkdirAll(filepath.Join(string(l), folder), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file at once: a reader sees the old content or the new,
// and a crash leaves no half of it.
func writeFile(path string, content []byte) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, content, 0o600); err != nil {
		return err
	}
	return os.Rename(partial, path)
}
