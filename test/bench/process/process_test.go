package process

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Options{Name: "the child", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestAProcessThatEndsOnItsOwnTellsItsLastWords(t *testing.T) {
	p := start(t, "for i in 1 2 3; do echo line $i; done; exit 3")
	<-p.Done()
	err := p.Unexpected()
	var died *Died
	if !errors.As(err, &died) {
		t.Fatalf("Unexpected() = %v, want *Died", err)
	}
	for _, want := range []string{"the child ended on its own", "exit status 3", "line 3"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message %q lacks %q", err, want)
		}
	}
}

func TestAStoppedProcessIsNoSurprise(t *testing.T) {
	p := start(t, "exec sleep 60")
	if err := p.Unexpected(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	if err := p.Stop(10 * time.Second); err != nil {
		t.Error(err)
	}
	if err := p.Unexpected(); err != nil {
		t.Errorf("after Stop: %v", err)
	}
}

func TestAProcessThatIgnoresTheRequestIsKilled(t *testing.T) {
	p := start(t, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	for !strings.Contains(p.LastWords(1), "ready") {
		select {
		case <-p.Done():
			t.Fatal("the child ended")
		case <-time.After(time.Millisecond):
		}
	}
	err := p.Stop(20 * time.Millisecond)
	if !errors.Is(err, ErrKilled) {
		t.Errorf("Stop() = %v, want ErrKilled", err)
	}
	<-p.Done()
}

func TestLastWordsAreTheLastLinesAndShort(t *testing.T) {
	p := start(t, "echo first; echo second; printf 'x%.0s' $(seq 1000)")
	<-p.Done()
	lines := strings.Split(p.LastWords(2), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "second") || len(lines[1]) > 410 {
		t.Errorf("last words: %q", lines)
	}
}
