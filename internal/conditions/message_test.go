package conditions

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	if got := Short("fits"); got != "fits" {
		t.Errorf("Short changed a short text to %q", got)
	}
	long := strings.Repeat("x", maxMessage-1) + strings.Repeat("ü", 10)
	got := Short(long)
	if len(got) > maxMessage+len(messageCutOff) || !strings.HasSuffix(got, messageCutOff) || !utf8.ValidString(got) {
		t.Errorf("Short gives %d bytes, valid %t, ending in %q", len(got), utf8.ValidString(got), got[len(got)-40:])
	}
}
