package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgressKeepsErrorsAndDropsPackages(t *testing.T) {
	var out strings.Builder
	got := progress(strings.NewReader("k8s.io/api/core/v1\n# kro.run/kro/localcluster\n./main.go:3:1: undefined: x\ninternal/abi\n"), 2, &out)
	if want := "# kro.run/kro/localcluster\n./main.go:3:1: undefined: x\n"; got != want {
		t.Errorf("errors of the build are %q, want %q", got, want)
	}
}

func TestLinkReplacesWhatIsInItsPlace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "etcd")
	if err := os.WriteFile(name, []byte("an old program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := link(name); err != nil {
			t.Fatal(err)
		}
		if target, err := os.Readlink(name); err != nil || target != "localcluster" {
			t.Fatalf("etcd is %q, %v", target, err)
		}
	}
}
