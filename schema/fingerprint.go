package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
)

// fingerprint identifies a schema with its plural and scope. It depends on content alone: whether equal parts are shared or copied, and how often a
// recursive schema is unrolled, makes no difference.
func fingerprint(root *Node, plural string, namespaced bool) string {
	f := fingerprinter{digests: map[*Node]digest{}, cyclic: map[*Node]bool{}, hash: sha256.New()}
	f.visit(root)
	f.refine()
	scope := byte('C')
	if namespaced {
		scope = 'N'
	}
	d := f.digests[root]
	sum := sha256.Sum256(append(d[:], plural+string(scope)...))
	return hex.EncodeToString(sum[:16])
}

type digest [16]byte

// fingerprinter hashes bottom up. A node that leads to a cycle has no bottom: such nodes are kept in cyclic, and refined round by round, each round
// seeing one step further, until a round tells no more nodes apart than the one before.
type fingerprinter struct {
	digests map[*Node]digest // of a node being visited: zero
	cyclic  map[*Node]bool
	hash    hash.Hash
	buf     []byte
}

// visit hashes n and everything below it, and tells whether it leads to a cycle.
func (f *fingerprinter) visit(n *Node) (cyclic bool) {
	if d, seen := f.digests[n]; seen {
		return d == digest{}
	}
	f.digests[n] = digest{}
	n.children(func(child *Node) {
		cyclic = f.visit(child) || cyclic
	})
	if cyclic {
		f.cyclic[n] = true // keeps the zero digest
		return true
	}
	f.digests[n] = f.digest(n)
	return false
}

func (f *fingerprinter) refine() {
	for classes := 0; ; {
		next := make(map[*Node]digest, len(f.cyclic))
		distinct := map[digest]bool{}
		for n := range f.cyclic {
			next[n] = f.digest(n)
			distinct[next[n]] = true
		}
		maps.Copy(f.digests, next)
		if len(distinct) == classes || len(distinct) == 0 {
			return
		}
		classes = len(distinct)
	}
}

// digest hashes what n says itself with the digests of its children.
func (f *fingerprinter) digest(n *Node) digest {
	f.buf = f.buf[:0]
	f.text(n.Type)
	f.text(n.Format)
	f.flags(n.AnyAdditional, n.PreserveUnknown, n.IntOrString, n.EmbeddedResource, n.Nullable, n.Items != nil, n.AdditionalProperties != nil)
	f.count(len(n.Required))
	for _, name := range n.Required {
		f.text(name)
	}
	names := slices.Sorted(maps.Keys(n.Properties))
	f.count(len(names))
	for _, name := range names {
		f.text(name)
	}
	n.children(func(child *Node) {
		d := f.digests[child]
		f.buf = append(f.buf, d[:]...)
	})
	f.hash.Reset()
	f.hash.Write(f.buf)
	return digest(f.hash.Sum(f.buf[:0])[:16])
}

// children calls each for the nodes right below n, in an order that depends on content alone.
func (n *Node) children(each func(*Node)) {
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		each(n.Properties[name])
	}
	if n.Items != nil {
		each(n.Items)
	}
	if n.AdditionalProperties != nil {
		each(n.AdditionalProperties)
	}
	for _, member := range n.Union {
		each(member)
	}
}

func (f *fingerprinter) text(s string) {
	f.count(len(s))
	f.buf = append(f.buf, s...)
}

func (f *fingerprinter) count(n int) { f.buf = binary.AppendUvarint(f.buf, uint64(n)) }

func (f *fingerprinter) flags(flags ...bool) {
	for _, flag := range flags {
		if flag {
			f.buf = append(f.buf, 1)
			continue
		}
		f.buf = append(f.buf, 0)
	}
}
