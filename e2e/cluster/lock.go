package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockTimeout bounds the wait for the components of an earlier run to end.
const lockTimeout = 10 * time.Second

// lockDirectory makes this the only run in the directory. Every component inherits the open file,
// and with it the lock, so that after a crash the next run waits until the last component of the
// previous one has ended.
func lockDirectory(ctx context.Context, dir layout) (*os.File, error) {
	file, err := os.OpenFile(dir.lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := waitForLock(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("another devcluster uses %s: stop it (its process IDs are in the run directory), or choose another --dir: %w", dir, err), file.Close())
	}
	return file, nil
}

func waitForLock(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollInterval):
		}
	}
}
