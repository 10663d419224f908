package plane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is the state folder of one plane.
type Folder string

func (f Folder) path(elements ...string) string {
	return filepath.Join(append([]string{string(f)}, elements...)...)
}

// Kubeconfig is the file with which a user reaches the plane as administrator.
func (f Folder) Kubeconfig() string { return f.path("kubeconfig") }

// Log is the file that holds what the named component prints.
func (f Folder) Log(component string) string { return f.path("logs", component+".log") }

func (f Folder) kubeconfigOf(user string) string { return f.path("users", user+".kubeconfig") }

// prepare makes the folders. Only their owner may read them: they hold keys.
func (f Folder) prepare() error {
	for _, dir := range []string{".", "logs", "run", "users"} {
		if err := os.MkdirAll(f.path(dir), 0o700); err != nil {
			return fmt.Errorf("make the state folder: %w", err)
		}
	}
	return nil
}

// exclusive waits until no other command works on the folder and keeps others
// out until release is called.
func (f Folder) exclusive(report Report) (release func(), err error) {
	for {
		file, err := os.OpenFile(f.path("run", commandLock), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock the state folder: %w", err)
		}
		fd := int(file.Fd())
		if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			report("another command works on %s; waiting for it", f)
			if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
				file.Close()
				return nil, fmt.Errorf("lock the state folder %s: %w", f, err)
			}
		}
		if locked, err := file.Stat(); err == nil {
			if there, err := os.Stat(file.Name()); err == nil && os.SameFile(locked, there) {
				return func() { file.Close() }, nil
			}
		}
		// The other command has removed the folder and the lock with it.
		file.Close()
		if err := f.prepare(); err != nil {
			return nil, err
		}
	}
}

const commandLock = "command.lock"

// empty stops what runs in the folder and removes all in it but the lock, which
// the caller holds.
func (f Folder) empty(ctx context.Context) error {
	if err := f.stopAll(ctx, func(string, ...any) {}); err != nil {
		return err
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == "run" {
			continue
		}
		if err := os.RemoveAll(f.path(entry.Name())); err != nil {
			return err
		}
	}
	return f.prepare()
}

// Report tells the user one thing that happened, in one line.
type Report func(format string, args ...any)

// writeFile replaces a file as a whole, so that a crash leaves the old one or
// the new one.
func writeFile(name string, data []byte) error {
	next := name + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, name)
}
