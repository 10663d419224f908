package process

import (
	"testing"
	"time"
)

func TestCPUTimeIsReadBehindTheProgramsName(t *testing.T) {
	got, err := cpuTime("7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 1 2 3")
	if err != nil || got != 2*time.Second {
		t.Errorf("cpuTime = %v, %v; want 2s", got, err)
	}
	if _, err := cpuTime("nonsense"); err == nil {
		t.Error("a line of unknown form was read")
	}
}

func TestMemoryIsReadInBytes(t *testing.T) {
	status := "Name:\tkro\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"
	if got := kibibytes(status, "VmRSS:"); got != 1<<20 {
		t.Errorf("VmRSS = %d", got)
	}
	if got := kibibytes(status, "VmSwap:"); got != 0 {
		t.Errorf("a field that is not there = %d, want 0", got)
	}
}

func TestARunningProcessHasMemory(t *testing.T) {
	p := start(t, "exec sleep 60")
	usage, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if usage.Resident == 0 || usage.Peak < usage.Resident {
		t.Errorf("usage = %+v", usage)
	}
}
