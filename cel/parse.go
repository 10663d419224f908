package cel

import (
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
)

// Reading the syntax is the costliest part of compiling an expression, and the same texts come again and again: a definition is compiled when it is
// admitted, when it is served, when it is edited in one place, and once for each of its revisions. So the texts that were read last are remembered.

// Parsed is an expression whose syntax was read. It saves Env.CompileParsed from reading it again. Immutable, and safe for concurrent use.
type Parsed struct {
	Inspection
	source string
	ast    *celgo.Ast
}

// tree gives a syntax tree to one checker, since checking changes it: an optimizer without optimizations is cel-go's way to copy a tree that is not
// checked yet, and the source that errors point at.
func (p *Parsed) tree() (*celgo.Ast, error) {
	tree, issues := new(celgo.StaticOptimizer).Optimize(nil, p.ast)
	return tree, issues.Err()
}

// Parse reads the syntax of an expression, which no environment changes. The error is a *CompileError with the parser's positions.
func Parse(src string) (*Parsed, error) {
	if p := remembered.find(src); p != nil {
		return p, nil
	}
	b, err := base()
	if err != nil {
		return nil, err
	}
	src = strings.Clone(src) // what is remembered must not hold on to the document around it
	parsed, issues := b.env.Parse(src)
	if err := issues.Err(); err != nil {
		return nil, &CompileError{Source: src, Message: "parse error: " + err.Error()}
	}
	p := &Parsed{Inspection: b.inspect(parsed.NativeRep().Expr()), source: src, ast: parsed}
	remembered.keep(p)
	return p, nil
}

// rememberedText is how many bytes of text a generation holds, some thousand expressions. A tree takes about fifty times its text, so the two generations
// take at most some 3 MiB.
const rememberedText = 32 << 10

var remembered = memory{limit: rememberedText}

// memory keeps what was read lately in two generations: when the young one is full, it becomes the old one, and what nobody has asked for since then goes.
type memory struct {
	limit int

	mu         sync.Mutex
	young, old map[string]*Parsed
	// size is the length of all texts of the young generation.
	size int
}

func (m *memory) find(src string) *Parsed {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.young[src]; p != nil {
		return p
	}
	p := m.old[src]
	if p != nil {
		m.add(p)
	}
	return p
}

func (m *memory) keep(p *Parsed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young[p.source] == nil && len(p.source) <= m.limit {
		m.add(p)
	}
}

func (m *memory) add(p *Parsed) {
	if m.young == nil || m.size+len(p.source) > m.limit {
		m.young, m.old, m.size = map[string]*Parsed{}, m.young, 0
	}
	m.young[p.source] = p
	m.size += len(p.source)
}
