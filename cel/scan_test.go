package cel

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestScan(t *testing.T) {
	text := func(s string, at int) Segment { return Segment{Text: s, Offset: at} }
	expr := func(s string, at int) Segment { return Segment{Text: s, Expression: true, Offset: at} }
	cases := map[string]struct {
		in   string
		want []Segment
	}{
		"empty":                              {"", nil},
		"only text":                          {"echo $HOME $(date) $1 $ {x} {{tpl}} } {", []Segment{text("echo $HOME $(date) $1 $ {x} {{tpl}} } {", 0)}},
		"standalone":                         {"${a.b}", []Segment{expr("a.b", 2)}},
		"a blank makes it a template":        {" ${a}", []Segment{text(" ", 0), expr("a", 3)}},
		"two in a row":                       {"${a}${b}", []Segment{expr("a", 2), expr("b", 6)}},
		"text around and between":            {"x ${a} y ${b} z", []Segment{text("x ", 0), expr("a", 4), text(" y ", 6), expr("b", 11), text(" z", 13)}},
		"a dollar before an expression":      {"$${a}", []Segment{text("$", 0), expr("a", 3)}},
		"nothing in it":                      {"${}", []Segment{expr("", 2)}},
		"braces of map literals":             {"${{'a': {'b': 1}}}", []Segment{expr("{'a': {'b': 1}}", 2)}},
		"escape":                             {`${"${NOT_ME}"}`, []Segment{expr(`"${NOT_ME}"`, 2)}},
		"braces in double quotes":            {`${"a ${b} {c} }" + x}`, []Segment{expr(`"a ${b} {c} }" + x`, 2)}},
		"escaped double quote":               {`${"say \"}\" " + x}`, []Segment{expr(`"say \"}\" " + x`, 2)}},
		"closing brace in single quotes":     {`${'}' + x}`, []Segment{expr(`'}' + x`, 2)}},
		"opening brace in single quotes":     {`${'{' + x}`, []Segment{expr(`'{' + x`, 2)}},
		"double quote in single quotes":      {`${'"' + x}`, []Segment{expr(`'"' + x`, 2)}},
		"an expression's text in single":     {`${'${X}' + x}`, []Segment{expr(`'${X}' + x`, 2)}},
		"escaped single quote":               {`${'it\'s }' + x}`, []Segment{expr(`'it\'s }' + x`, 2)}},
		"three quotes":                       {`${"""a "}" b""" + x}`, []Segment{expr(`"""a "}" b""" + x`, 2)}},
		"three quotes over lines":            {"${'''a\n}'''}", []Segment{expr("'''a\n}'''", 2)}},
		"backslash in raw text":              {`${r"\" + "}" + x}`, []Segment{expr(`r"\" + "}" + x`, 2)}},
		"raw bytes":                          {`${bR'\' + b'}'}`, []Segment{expr(`bR'\' + b'}'`, 2)}},
		"a name that ends like a raw prefix": {`${for_r + "\"}"}`, []Segment{expr(`for_r + "\"}"`, 2)}},
		"empty literals":                     {`${'' + ""}`, []Segment{expr(`'' + ""`, 2)}},
		"over several lines":                 {"${\n  a\n}", []Segment{expr("\n  a\n", 2)}},
		"quote in a comment":                 {"${ a // it's a\n}", []Segment{expr(" a // it's a\n", 2)}},
		"comment on the line of the brace":   {"${a // b} c", []Segment{expr("a // b", 2), text(" c", 9)}},
		"comment marks in text":              {"${'http://x'}", []Segment{expr("'http://x'", 2)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Scan(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	for in, want := range map[string]ScanError{
		"${a":              {0, "is never closed"},
		"text ${a + {":     {5, "is never closed"},
		`a ${b + "c}`:      {8, "string literal is never closed"},
		"${'a\n'}":         {2, "string literal is never closed"},
		"${'''a'}":         {2, "string literal is never closed"},
		"${a + ${b}}":      {6, reasonNested},
		"${a // ${b}}":     {7, reasonNested},
		"${a} and ${b ${c": {13, reasonNested},
	} {
		_, err := Scan(in)
		var fault *ScanError
		if !errors.As(err, &fault) {
			t.Errorf("Scan(%q) gave %v, want a *ScanError", in, err)
			continue
		}
		if fault.Offset != want.Offset || !strings.Contains(fault.Error(), want.Reason) {
			t.Errorf("Scan(%q): %v at %d, want %q at %d", in, fault, fault.Offset, want.Reason, want.Offset)
		}
	}
}

func TestJoin(t *testing.T) {
	for in, want := range map[string]string{
		"":                  `""`,
		"plain":             `"plain"`,
		"${a.b}":            "a.b",
		"${a}${b}":          "(a) + (b)",
		"x \"q\"\n${a}\t":   `"x \"q\"\n" + (a) + "\t"`,
		"${a // note} tail": "(a // note\n) + \" tail\"",
	} {
		segments, err := Scan(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Join(segments); got != want {
			t.Errorf("Join(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestTextPassesThroughTemplates: whatever text stands around an expression arrives unharmed.
func TestTextPassesThroughTemplates(t *testing.T) {
	env, vars := testEnv(t), testVars(t)
	rapid.Check(t, func(r *rapid.T) {
		before := strings.ReplaceAll(rapid.String().Draw(r, "before"), "${", "")
		after := strings.ReplaceAll(rapid.String().Draw(r, "after"), "${", "")
		if strings.ToValidUTF8(before+after, "") != before+after {
			r.Skip("JSON text is valid UTF-8")
		}
		before = strings.TrimRight(before, "$")
		segments, err := Scan(before + "${schema.spec.word}" + after)
		if err != nil {
			r.Fatal(err)
		}
		got, err := eval(t, env, vars, Join(segments))
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(any(before+"word"+after), got); diff != "" {
			r.Fatal(diff)
		}
	})
}

// FuzzScan: pieces cover the input without overlap, or the error points into it.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{"", "${a}", "a ${'}'} b", `${"${x}"}`, "${r'\\'}", "${a // b}", "${", "$${a}", "${'''", "é${\"é\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		segments, err := Scan(s)
		if err != nil {
			var fault *ScanError
			if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset >= len(s) {
				t.Fatalf("Scan(%q): %v", s, err)
			}
			return
		}
		at := 0
		for _, seg := range segments {
			if seg.Expression {
				at += len("${")
			}
			if seg.Offset != at || s[at:at+len(seg.Text)] != seg.Text {
				t.Fatalf("Scan(%q): segment %+v, want offset %d", s, seg, at)
			}
			at += len(seg.Text)
			if seg.Expression {
				at += len("}")
			}
		}
		if at != len(s) {
			t.Fatalf("Scan(%q) covers %d of %d bytes", s, at, len(s))
		}
	})
}
