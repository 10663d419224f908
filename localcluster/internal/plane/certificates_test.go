package plane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

func TestAuthorityIsKeptWhileItIsGood(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certificates")
	first, why, err := authorityIn(dir, now)
	if err != nil || why != "" {
		t.Fatalf("a first authority needs no excuse: %q, %v", why, err)
	}
	again, why, err := authorityIn(dir, now.Add(30*24*time.Hour))
	if err != nil || why != "" || again.fingerprint() != first.fingerprint() {
		t.Fatalf("a good authority was replaced: %q, %v", why, err)
	}
}

func TestAuthorityIsMended(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		damage func(t *testing.T, dir string)
		at     time.Time
		says   string
	}{
		"HalfMade": {
			reason: "a crash or a user took one file",
			damage: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "server.key")) },
			at:     now, says: "server.key",
		},
		"Damaged": {
			reason: "a full disk leaves empty files",
			damage: func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, "ca.crt"), "") },
			at:     now, says: "ca.crt holds no PEM block",
		},
		"OfAnother": {
			reason: "a certificate of another authority makes every client fail",
			damage: func(t *testing.T, dir string) {
				other := filepath.Join(t.TempDir(), "certificates")
				if _, _, err := authorityIn(other, now); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(filepath.Join(other, "server.crt"))
				if err != nil {
					t.Fatal(err)
				}
				overwrite(t, filepath.Join(dir, "server.crt"), string(data))
			},
			at: now, says: "server.crt is not signed by ca.crt",
		},
		"Old": {
			reason: "a cluster must not stop in the middle of a day's work",
			damage: func(*testing.T, string) {},
			at:     now.Add(certificateLife - renewBefore + time.Hour), says: "ends on 2027-12-01",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "certificates")
			before, _, err := authorityIn(dir, now)
			if err != nil {
				t.Fatal(err)
			}
			tc.damage(t, dir)
			after, why, err := authorityIn(dir, tc.at)
			if err != nil {
				t.Fatalf("%s: not mended: %v", tc.reason, err)
			}
			if !strings.Contains(why, tc.says) {
				t.Errorf("%s: the user is told %q, want it to contain %q", tc.reason, why, tc.says)
			}
			if after.fingerprint() == before.fingerprint() {
				t.Errorf("%s: processes would not be restarted", tc.reason)
			}
		})
	}
}

func TestKubeconfigIsKeptWhileItIsGood(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	if err := p.writeKubeconfigs(now); err != nil {
		t.Fatal(err)
	}
	before := read(t, p.folder.Kubeconfig())
	if err := p.writeKubeconfigs(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if read(t, p.folder.Kubeconfig()) != before {
		t.Error("the kubeconfig changed without a reason")
	}
	overwrite(t, p.folder.Kubeconfig(), "half a fi")
	if err := p.writeKubeconfigs(now); err != nil {
		t.Fatal(err)
	}
	if after := read(t, p.folder.Kubeconfig()); !strings.Contains(after, "https://127.0.0.1:") {
		t.Errorf("a damaged kubeconfig is not mended: %s", after)
	}
}

func open(t *testing.T, dir string) *Plane {
	t.Helper()
	p, err := Open(t.Context(), dir, Options{Programs: dir, ControllerManager: true, Simulator: true, AnyPorts: true, Report: t.Logf, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	p.ports = ports{portAPI: 1}
	return p
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
