package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Case is one file of cases/.
type Case struct {
	// Why is the behaviour that the case stands for.
	Why string
	// Peer says what kro 0.9 does with it, where that is known.
	Peer  string
	Steps []Step
}

// Step does things and then looks at what has come of them, in the order of its fields.
type Step struct {
	Apply  []map[string]any
	Refuse map[string]any
	Patch  *Patch
	Delete []map[string]any
	Expect []Check
	Stays  []Check
	Absent []string
	// Within is how long Expect, Absent and Apply wait; For is how long Stays looks.
	Within, For Duration
}

// Patch is a JSON merge patch of one object.
type Patch struct {
	Get, Merge, Subresource string
}

// Check compares what a JSONPath finds in one object. Exactly one of the four is set; Is may be empty.
type Check struct {
	Get, Path         string
	Is                *string
	Has, Matches, Not string
}

// Duration is written as Go writes it, as in 20s.
type Duration time.Duration

// UnmarshalJSON reads the text.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	parsed, err := time.ParseDuration(strings.Trim(string(raw), `"`))
	*d = Duration(parsed)
	return err
}

func (d Duration) or(otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return time.Duration(d)
}

// load reads a case and gives it its name, that of the file.
func load(path string) (name string, c Case, err error) {
	name = strings.TrimSuffix(filepath.Base(path), ".yaml")
	raw, err := os.ReadFile(path)
	if err != nil {
		return name, c, err
	}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(raw), "$C", name)), &c); err != nil {
		return name, c, fmt.Errorf("read case %s: %w", path, err)
	}
	if c.Why == "" || len(c.Steps) == 0 {
		return name, c, fmt.Errorf("read case %s: it needs why and steps", path)
	}
	return name, c, nil
}
