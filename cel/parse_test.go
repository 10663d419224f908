package cel

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"
)

// Checking rewrites names of functions and types in a tree; one that is remembered is for all.
func TestCheckingLeavesWhatIsRememberedAlone(t *testing.T) {
	const src = "json.marshal({'a': x}) + string(type(x) == int) + optional.of(x).orValue('').upperAscii()"
	p, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	before, err := celgo.AstToParsedExpr(p.ast)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			env, err := NewEnv(NewTypes(), Variable{"x", celgo.StringType})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := env.Compile(src, Template); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	again, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	if again != p {
		t.Error("a text that was read a moment ago was read once more")
	}
	after, err := celgo.AstToParsedExpr(p.ast)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(before, after) {
		t.Errorf("the tree was %v, and is %v", before, after)
	}
}

// The errors of a text that is remembered are those of one that is not, with their positions.
func TestErrorsOfRememberedTexts(t *testing.T) {
	env, err := NewEnv(NewTypes(), Variable{"x", celgo.StringType})
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for i := range 3 {
		_, err := env.Compile("x +\n  size(x)", Template)
		if err == nil {
			t.Fatal("text and a number were joined")
		}
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first || !strings.Contains(first, "1:3") || !strings.Contains(first, "x +") {
			t.Errorf("time %d: %s\nthe first time: %s", i+1, err, first)
		}
	}
}

func TestMemoryForgetsWhatNobodyAsksFor(t *testing.T) {
	m := memory{limit: 10}
	for i := range 100 {
		m.keep(&Parsed{source: "used"})
		m.keep(&Parsed{source: fmt.Sprintf("n%03d", i)})
		if m.find("used") == nil {
			t.Fatalf("what is asked for all the time was forgotten after %d others", i)
		}
		if m.size > m.limit {
			t.Fatalf("the young generation holds %d bytes of text, its limit is %d", m.size, m.limit)
		}
	}
	if m.find("n000") != nil || m.find("n099") == nil {
		t.Errorf("remembered are %v and %v", m.young, m.old)
	}
	m.keep(&Parsed{source: "longer than all"})
	if m.find("longer than all") != nil {
		t.Error("a text beyond the limit is kept")
	}
}
