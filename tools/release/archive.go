package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string // in the archive, with slashes
	content []byte
	mode    fs.FileMode
}

// fileAt returns the file at a path, under another name and mode.
func fileAt(path, name string, mode fs.FileMode) (file, error) {
	content, err := os.ReadFile(path)
	return file{name, content, mode}, err
}

// filesBelow returns the files of a folder in the order of their names, which begin with a prefix.
func filesBelow(folder, prefix string) (files []file, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		one, err := fileAt(path, prefix+filepath.ToSlash(relative), 0o644)
		files = append(files, one)
		return err
	})
	return files, err
}

// writeTar writes files as a tar archive. All of them have the same time and the owner root.
func writeTar(w io.Writer, files []file, modified time.Time) error {
	archive := tar.NewWriter(w)
	for _, one := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: one.name, Mode: int64(one.mode.Perm()), Size: int64(len(one.content)),
			ModTime: modified, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(one.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeTarGz is writeTar with compression.
func writeTarGz(w io.Writer, files []file, modified time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(compressed, files, modified); err != nil {
		return err
	}
	return compressed.Close()
}

// writeZip writes files as a zip archive. All of them have the same time.
func writeZip(w io.Writer, files []file, modified time.Time) error {
	archive := zip.NewWriter(w)
	for _, one := range files {
		header := &zip.FileHeader{Name: one.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(one.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(one.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// save writes an archive to a path.
func save(path string, files []file, modified time.Time, write func(io.Writer, []file, time.Time) error) error {
	created, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(created, files, modified); err != nil {
		_ = created.Close()
		return err
	}
	return created.Close()
}
