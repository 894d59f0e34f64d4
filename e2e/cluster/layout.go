package main

import (
	"os"
	"path/filepath"
)

// layout is the path of the cluster's directory. Its methods return the paths inside it.
type layout string

func (l layout) kubeconfig() string      { return filepath.Join(string(l), "kubeconfig") }
func (l layout) ports() string           { return filepath.Join(string(l), "ports.json") }
func (l layout) lock() string            { return filepath.Join(string(l), "run", "lock") }
func (l layout) etcdData() string        { return filepath.Join(string(l), "etcd") }
func (l layout) pki(file string) string  { return filepath.Join(string(l), "pki", file) }
func (l layout) log(name string) string  { return filepath.Join(string(l), "logs", name+".log") }
func (l layout) pid(name string) string  { return filepath.Join(string(l), "run", name+".pid") }
func (l layout) user(name string) string { return filepath.Join(string(l), "run", name+".kubeconfig") }

// make creates the directories. They hold private keys, so only the owner has access.
func (l layout) make() error {
	for _, folder := range []string{"etcd", "logs", "pki", "run"} {
		if err := os.MkdirAll(filepath.Join(string(l), folder), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file atomically: a reader sees the old content or the new one, and a crash
// leaves no partial file.
func writeFile(path string, content []byte) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, content, 0o600); err != nil {
		return err
	}
	return os.Rename(partial, path)
}
