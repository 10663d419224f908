package version

import "testing"

func TestLabel(t *testing.T) {
	cases := map[string]struct {
		version, want string
	}{
		"a released version is a label value as it is": {"v0.9.3", "v0.9.3"},
		"build metadata would not be a label value":    {"v0.9.3+dirty.1", "v0.9.3-dirty.1"},
	}
	for reason, c := range cases {
		if got := label(c.version); got != c.want {
			t.Errorf("%s: label(%q) = %q, want %q", reason, c.version, got, c.want)
		}
	}
}

func TestUnstampedBuild(t *testing.T) {
	defer func(old string) { version = old }(version)
	version = ""
	if got := Version(); got != "devel" {
		t.Errorf("Version() = %q, want devel", got)
	}
	if got := UserAgent(); got != "kro/devel" {
		t.Errorf("UserAgent() = %q, want kro/devel", got)
	}
}
