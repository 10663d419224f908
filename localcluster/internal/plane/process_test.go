package plane

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleeper is a component that does nothing for a long time.
func sleeper(name string) Component {
	return Component{Name: name, Path: "/bin/sh", Args: []string{"-c", "echo up and away; exec sleep 600"}, patience: 10 * time.Second}
}

func TestProcessLivesInItsLock(t *testing.T) {
	dir := t.TempDir()
	p := process{file: filepath.Join(dir, "sleeper"), log: filepath.Join(dir, "sleeper.log")}
	if _, running := p.alive(); running {
		t.Fatal("a process that never started lives")
	}
	if err := p.start(sleeper("sleeper"), "print", now); err != nil {
		t.Fatal(err)
	}
	r, running := p.alive()
	if !running || r.Fingerprint != "print" || !r.Started.Equal(now) {
		t.Fatalf("a running process does not show: %+v", r)
	}
	if err := p.start(sleeper("sleeper"), "print", now); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second process beside the first: %v", err)
	}

	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !p.ended(t.Context(), 10*time.Second) || !p.died() {
		t.Error("a killed process does not show as one that ended by itself")
	}
	if !strings.Contains(p.lastWords(3), "up and away") {
		t.Errorf("its last words are lost: %q", p.lastWords(3))
	}

	// The file names a process ID that is somebody else's by now: this test's.
	overwrite(t, p.file, fmt.Sprintf(`{"PID":%d}`, syscall.Getpid()))
	if was, err := p.stop(t.Context(), time.Second); was || err != nil {
		t.Errorf("a recycled process ID was taken for ours: %v, %v", was, err)
	}
}

func TestProcessThatDoesNotEnd(t *testing.T) {
	dir := t.TempDir()
	p := process{file: filepath.Join(dir, "stubborn"), log: filepath.Join(dir, "stubborn.log")}
	c := Component{Name: "stubborn", Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}}
	if err := p.start(c, "", now); err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), 10*time.Second, func(context.Context) error {
		if !strings.Contains(p.lastWords(1), "ready") {
			return errEnded
		}
		return nil
	}); err != nil {
		t.Fatal("it does not start")
	}
	was, err := p.stop(t.Context(), 200*time.Millisecond)
	if !was || err != nil {
		t.Fatalf("a process that ignores SIGTERM was not ended: %v, %v", was, err)
	}
	if p.died() {
		t.Error("a stopped process shows as one that ended by itself")
	}
}

func TestEnsure(t *testing.T) {
	p := open(t, t.TempDir())
	var told []string
	p.options.Report = func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	t.Cleanup(func() {
		if err := p.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ensure := func(c Component, says string) {
		t.Helper()
		told = nil
		if err := p.ensure(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(told, "\n"); !strings.Contains(all, says) {
			t.Errorf("the user is told %q, want it to contain %q", all, says)
		}
	}
	c := sleeper("simulator")
	ensure(c, "started in")
	ensure(c, "runs (process")
	c.Args = append(c.Args, "other")
	ensure(c, "restarted: it runs an older program")
	r, _ := p.folder.process("simulator").alive()
	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !p.folder.process("simulator").ended(t.Context(), 10*time.Second) {
		t.Fatal("it does not end")
	}
	ensure(c, "had ended by itself; its last words")

	c = Component{Name: "kro", Path: "/bin/sh", Args: []string{"-c", "echo no such flag; exit 1"}, patience: 10 * time.Second, ready: func(context.Context) error { return errEnded }}
	err := p.ensure(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "kro did not become ready: the process ended") || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("a program that ends at once: %v", err)
	}
}

func TestPortTakenByAnother(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	var told string
	p := ports{portAPI: taken}
	if err := p.settle(portAPI, true, func(format string, args ...any) { told = fmt.Sprintf(format, args...) }); err != nil {
		t.Fatal(err)
	}
	if p[portAPI] == taken || !free(p[portAPI]) {
		t.Errorf("port %d is no use", p[portAPI])
	}
	if want := fmt.Sprintf("port %d on 127.0.0.1 (API server) is taken by another program", taken); !strings.Contains(told, want) {
		t.Errorf("the user is told %q, want it to contain %q", told, want)
	}
	kept := p[portAPI]
	if err := p.settle(portAPI, true, t.Logf); err != nil || p[portAPI] != kept {
		t.Errorf("a free port of the last run is not kept: %v", err)
	}
}

func TestPortsOfADamagedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ports.json")
	overwrite(t, name, `{"etcd": 1`)
	if p := loadPorts(name); len(p) != 0 {
		t.Errorf("half a file gives %v", p)
	}
	want := ports{portEtcd: 1234}
	if err := want.save(name); err != nil {
		t.Fatal(err)
	}
	if got := loadPorts(name); got[portEtcd] != 1234 {
		t.Errorf("ports are not kept: %v", got)
	}
}

func TestFolderOfOneCommandAtATime(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	waiting, second := make(chan bool), make(chan error)
	go func() {
		p, err := Open(t.Context(), dir, Options{Fresh: true, Report: func(string, ...any) { close(waiting) }, Now: func() time.Time { return now }})
		if err == nil {
			p.Release()
		}
		second <- err
	}()
	<-waiting                                 // it has been told to wait
	if err := os.RemoveAll(dir); err != nil { // as down --purge does while it holds the folder
		t.Fatal(err)
	}
	select {
	case err := <-second:
		t.Fatalf("two commands work on one folder: %v", err)
	default:
	}
	first.Release()
	if err := <-second; err != nil {
		t.Fatalf("a folder that was removed while waiting for it: %v", err)
	}
	if !exists(filepath.Join(dir, "run", commandLock)) {
		t.Error("the lock held is not the one that others will see")
	}
}
