package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is the file in run/ that stands for one process. The process holds a
// lock on it from before its first instruction to its end, through an open file
// it inherits and does not know of; the file's text says what it runs.
type process struct {
	file string
	log  string
}

// record is the text of the file.
type record struct {
	PID         int
	Fingerprint string
	Started     time.Time
}

// alive reports whether the process runs, and what.
func (p process) alive() (record, bool) {
	file, err := os.Open(p.file)
	if err != nil {
		return record{}, false
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return record{}, false
	}
	r, err := p.read()
	return r, err == nil
}

// died reports that the process ended without being asked to.
func (p process) died() bool {
	_, running := p.alive()
	return !running && exists(p.file)
}

func (p process) read() (record, error) {
	var r record
	data, err := os.ReadFile(p.file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", p.file, err)
	}
	return r, nil
}

// start runs a command apart from this one, which may end before it.
func (p process) start(c Component, fingerprint string, now time.Time) error {
	lock, err := os.OpenFile(p.file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer lock.Close()
	// Somebody who only asks whether the process lives holds the lock for a moment.
	if err := poll(context.Background(), time.Second, func(context.Context) error {
		return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}); err != nil {
		return fmt.Errorf("start %s: it runs already: %w", c.Name, err)
	}
	if err := os.Rename(p.log, p.log+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer log.Close()

	command := exec.Command(c.Path, c.Args...)
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{lock}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	go func() { _ = command.Wait() }() // an ended child is reaped; that it ended shows in its lock
	data, err := json.Marshal(record{PID: command.Process.Pid, Fingerprint: fingerprint, Started: now.Round(time.Second)})
	if err == nil {
		err = lock.Truncate(0)
	}
	if err == nil {
		_, err = lock.WriteAt(data, 0)
	}
	if err != nil {
		_ = command.Process.Kill()
		return fmt.Errorf("note down the process of %s: %w", c.Name, err)
	}
	return nil
}

// stop asks the process to end, insists when it does not within the patience,
// and waits for its end. It reports whether there was one to stop.
func (p process) stop(ctx context.Context, patience time.Duration) (bool, error) {
	r, running := p.alive()
	if running {
		// The lock is held, so the process ID is that of our process.
		if err := signal(r.PID, syscall.SIGTERM); err != nil {
			return true, err
		}
		if !p.ended(ctx, patience) {
			if err := signal(r.PID, syscall.SIGKILL); err != nil {
				return true, err
			}
			if !p.ended(ctx, 10*time.Second) {
				return true, fmt.Errorf("process %d does not end, not even by SIGKILL", r.PID)
			}
		}
	}
	if err := os.Remove(p.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return running, err
	}
	return running, nil
}

func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process %d: %w", s, pid, err)
	}
	return nil
}

func (p process) ended(ctx context.Context, within time.Duration) bool {
	return poll(ctx, within, func(context.Context) error {
		if _, running := p.alive(); running {
			return errors.New("still runs")
		}
		return nil
	}) == nil
}

// lastWords are the last lines of the log, for a message about a process that
// ended or does not come up.
func (p process) lastWords(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(bytes.ToValidUTF8(data, nil)), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, line := range all {
		if len(line) > 400 {
			line = line[:400] + "…"
		}
		all[i] = "    " + line
	}
	return strings.Join(all, "\n")
}

// poll tries until a check holds. It returns the last failure when the time is up.
func poll(ctx context.Context, within time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
