//go:build !linux

package process

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Usage is known on Linux only, where /proc is.
func (p *Process) Usage() (Usage, error) {
	return Usage{}, errors.New("CPU time and memory of a process are read from /proc, which this system does not have")
}
