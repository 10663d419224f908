// Package docs has no code. Its test keeps what the pages say about the tree from going stale.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shownBy is a test as the pages name it: a file, and a text in it.
var shownBy = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|yaml)):([^`]+)`")

// TestReportsNameTestsThatExist: each row of design/user-reports.md either names what shows it, or says that there is nothing to show yet.
func TestReportsNameTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("design/user-reports.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| --- ") || strings.HasSuffix(line, "shown by |") {
			continue
		}
		rows++
		tests := shownBy.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 && !regexp.MustCompile(`later: |not offered|the same: `).MatchString(line) {
			t.Errorf("a row names no test: %s", line)
		}
		for _, test := range tests {
			path := test[1]
			if rest, ok := strings.CutPrefix(path, "cases/"); ok {
				path = "test/conformance/cases/" + rest
			}
			content, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(content), test[2]) {
				t.Errorf("%s does not contain %q", path, test[2])
			}
		}
	}
	if rows < 100 {
		t.Errorf("%d rows are read, so they have another form now", rows)
	}
}
