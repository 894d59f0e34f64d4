package main

import (
	"context"
	"testing"
)

func TestDirectory_IsLockedUntilItsRunEnds(t *testing.T) {
	dir := newDir(t)
	first, err := lockDirectory(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockDirectory(impatient, dir); err == nil {
		t.Error("a second run locked the directory of a running one")
	}
	first.Close()
	second, err := lockDirectory(t.Context(), dir)
	if err != nil {
		t.Fatalf("the directory of an ended run is locked: %v", err)
	}
	second.Close()
}
