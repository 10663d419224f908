package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU time in /proc: a constant of Linux' interface on all architectures that Go knows.
const clockTick = 10 * time.Millisecond

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Usage reads what the process has cost from /proc.
func (p *Process) Usage() (Usage, error) {
	folder := fmt.Sprintf("/proc/%d/", p.PID())
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("read the usage of %s: %w", p.options.Name, err)
	}
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("read the usage of %s: %w", p.options.Name, err)
	}
	cpu, err := cpuTime(string(stat))
	if err != nil {
		return Usage{}, fmt.Errorf("read the usage of %s: %w", p.options.Name, err)
	}
	return Usage{CPU: cpu, Resident: kibibytes(string(status), "VmRSS:"), Peak: kibibytes(string(status), "VmHWM:")}, nil
}

// cpuTime takes utime and stime from a line of /proc/PID/stat. The second field is the program's name in parentheses and
// may hold spaces, so fields are counted from the last parenthesis.
func cpuTime(stat string) (time.Duration, error) {
	_, rest, found := cutLast(stat, ")")
	fields := strings.Fields(rest)
	if !found || len(fields) < 13 {
		return 0, fmt.Errorf("unknown form of /proc/PID/stat: %q", stat)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("unknown form of /proc/PID/stat: %q", stat)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}

// kibibytes gives a field of /proc/PID/status in bytes, 0 when it is not there.
func kibibytes(status, field string) int64 {
	for line := range strings.Lines(status) {
		rest, found := strings.CutPrefix(line, field)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return 0
		}
		return n << 10
	}
	return 0
}
