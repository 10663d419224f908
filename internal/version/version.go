// Package version says which build of kro this is: the number a release stamps in, as it is, as a label value and as the name under which kro
// speaks to an API server.
package version

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// unstamped is the version of a build that no release script has marked.
const unstamped = "devel"

// version is set by the linker: -ldflags "-X kro.run/kro/internal/version.version=v1.2.3".
var version = unstamped

// Version returns the version of this build, "devel" when none was stamped in.
func Version() string {
	if version == "" {
		return unstamped
	}
	return version
}

// Label returns the version as a label value: "+", which marks build metadata in a semantic version but is not allowed in labels, becomes "-".
func Label() string {
	return label(Version())
}

// UserAgent returns the name kro sends with each API request, and the tooling name of its ApplySets.
func UserAgent() string {
	return "kro/" + Version()
}

func label(v string) string {
	if len(validation.IsValidLabelValue(v)) == 0 {
		return v
	}
	return strings.ReplaceAll(v, "+", "-")
}
