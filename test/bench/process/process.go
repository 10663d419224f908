package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Options say what to run.
type Options struct {
	// Name is what messages call the process.
	Name string
	// Path is the program.
	Path string
	// Args are its arguments, without the program's name.
	Args []string
	// Log is the file that what it prints is appended to.
	Log string
	// Stdout takes what it prints on standard output instead of Log when set.
	Stdout io.Writer
}

// Process is a running child, or one that has ended.
type Process struct {
	options  Options
	command  *exec.Cmd
	expected atomic.Bool
	done     chan struct{}
	result   error
}

// Start runs a program.
func Start(o Options) (*Process, error) {
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: open its log: %w", o.Name, err)
	}
	defer log.Close() // the child has its own descriptor
	command := exec.Command(o.Path, o.Args...)
	command.Stderr, command.Stdout = log, log
	if o.Stdout != nil {
		command.Stdout = o.Stdout
	}
	command.SysProcAttr = attributes()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	p := &Process{options: o, command: command, done: make(chan struct{})}
	go func() {
		p.result = command.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Died tells about a process that ended though nobody asked it to.
type Died struct {
	Name   string
	Result error  // how it ended; nil for exit code 0
	Words  string // the last lines of its log
}

func (d *Died) Error() string {
	how := "with exit code 0"
	if d.Result != nil {
		how = "with " + d.Result.Error()
	}
	return fmt.Sprintf("%s ended on its own, %s; its last lines:\n%s", d.Name, how, d.Words)
}

// Unexpected tells how the process died, or gives nil while it runs or when its end was asked for.
func (p *Process) Unexpected() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.expected.Load() {
		return nil
	}
	return &Died{Name: p.options.Name, Result: p.result, Words: p.LastWords(15)}
}

// Stop asks the process to end, insists after the patience, and returns when it has ended.
func (p *Process) Stop(patience time.Duration) error {
	p.expected.Store(true)
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return fmt.Errorf("%s did not end within %s of SIGTERM: %w", p.options.Name, patience, ErrKilled)
}

// ErrKilled is in the error of Stop when the process has not ended by itself, but has ended.
var ErrKilled = errors.New("it was killed")

// Kill ends the process without warning, and returns when it has ended.
func (p *Process) Kill() error {
	p.expected.Store(true)
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *Process) signal(s syscall.Signal) error {
	if err := p.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s: %w", s, p.options.Name, err)
	}
	return nil
}

// LastWords are the last lines of the log.
func (p *Process) LastWords(lines int) string {
	data, err := tail(p.options.Log, 64<<10)
	if err != nil {
		return "    (no log: " + err.Error() + ")"
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

func tail(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(file, most))
}
