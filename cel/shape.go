package cel

import (
	"hash/maphash"
	"maps"
	"slices"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/traits"

	"kro.run/kro/schema"
)

// kind is what a schema node is to CEL. Declaring, reading, assigning and inferring all start from it, which keeps them in step.
type kind uint8

const (
	kindDyn       kind = iota // the schema does not say, or says several: the value's own type counts
	kindScalar                // int-or-string and quantities: a number or text, known at run time
	kindOpen                  // a free-form object
	kindStruct                // an object with named fields
	kindMap                   // an object with values of one schema
	kindList                  // an array
	kindString                // text
	kindBytes                 // base64 text on the wire
	kindDate                  // a date on the wire, a timestamp in CEL
	kindTimestamp             // an RFC 3339 time
	kindDuration              // a duration
	kindBool
	kindNumber
	kindInteger
	kindHidden // cannot be read: an array that says nothing of its elements
)

// openType is the type of free-form objects. To the checker it is dyn, so all that reads and combines maps is allowed on it; it differs from dyn in
// its traits, by which Assignable and Schema know that it is an object all the same.
var openType = celgo.DynType.WithTraits(traits.IndexerType | traits.FieldTesterType | traits.IterableType | traits.SizerType)

func isOpen(t *celgo.Type) bool {
	return t.Kind() == celgo.DynKind && t.HasTrait(traits.FieldTesterType)
}

func kindOf(n *schema.Node) kind {
	if n == nil {
		return kindDyn
	}
	if n.IntOrString {
		return kindScalar
	}
	switch n.Type {
	case "object":
		return objectKind(n)
	case "array":
		return arrayKind(n)
	case "string":
		return stringKind(n.Format)
	case "boolean":
		return kindBool
	case "number":
		return kindNumber
	case "integer":
		return kindInteger
	case "":
		return untypedKind(n)
	}
	return kindDyn
}

func objectKind(n *schema.Node) kind {
	switch {
	case len(n.Properties) > 0:
		return kindStruct
	case n.EmbeddedResource:
		return kindOpen
	case n.AdditionalProperties != nil:
		return kindMap
	case n.PreserveUnknown || n.AnyAdditional:
		return kindOpen
	}
	return kindStruct
}

func arrayKind(n *schema.Node) kind {
	if n.Items == nil || kindOf(n.Items) == kindHidden {
		return kindHidden
	}
	return kindList
}

func stringKind(format string) kind {
	switch format {
	case "byte":
		return kindBytes
	case "date":
		return kindDate
	case "date-time":
		return kindTimestamp
	case "duration":
		return kindDuration
	}
	return kindString
}

// untypedKind reads what a schema without a type still says.
func untypedKind(n *schema.Node) kind {
	switch {
	case len(n.Union) > 0:
		return kindDyn
	case len(n.Properties) > 0:
		return kindStruct
	case n.AdditionalProperties != nil:
		return kindMap
	case n.Items != nil:
		return arrayKind(n)
	}
	return kindDyn
}

// open says that an object takes fields which its schema does not name.
func open(n *schema.Node) bool {
	return n.PreserveUnknown || n.AnyAdditional || n.EmbeddedResource
}

// property gives the schema of a field of a struct by its name on the wire, and whether there is such a field that can be read. An open struct
// has every field.
func property(n *schema.Node, name string) (*schema.Node, bool) {
	if child, ok := n.Properties[name]; ok {
		return child, kindOf(child) != kindHidden
	}
	if n.AdditionalProperties != nil {
		return n.AdditionalProperties, kindOf(n.AdditionalProperties) != kindHidden
	}
	return nil, open(n)
}

// fieldNames lists the fields that can be read, sorted.
func fieldNames(n *schema.Node) []string {
	names := make([]string, 0, len(n.Properties))
	for name, child := range n.Properties {
		if kindOf(child) != kindHidden {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var shapeSeed = maphash.MakeSeed()

// shapeHash is equal for nodes of the same shape. It looks only a few levels down, so it costs little on large schemas and ends on recursive ones;
// sameShape decides among the nodes that share a hash.
func shapeHash(n *schema.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(shapeSeed)
	hashShape(&h, n, 3)
	return h.Sum64()
}

func hashShape(h *maphash.Hash, n *schema.Node, depth int) {
	k := kindOf(n)
	_ = h.WriteByte(byte(typeClass(k)))
	if depth == 0 {
		return
	}
	switch k {
	case kindMap:
		hashShape(h, n.AdditionalProperties, depth-1)
	case kindList:
		hashShape(h, n.Items, depth-1)
	case kindStruct:
		for _, name := range fieldNames(n) {
			_, _ = h.WriteString(name)
			_ = h.WriteByte(0)
			hashShape(h, n.Properties[name], depth-1)
		}
	}
}

// typeClass joins the kinds that are one CEL type.
func typeClass(k kind) kind {
	switch k {
	case kindScalar:
		return kindDyn
	case kindDate:
		return kindTimestamp
	}
	return k
}

// pair is two nodes that are being compared.
type pair struct{ a, b *schema.Node }

// sameShape says that two nodes have one CEL type: the same fields of the same shapes all the way down. Recursive schemas end because a pair that
// is being compared counts as equal (they are bisimilar unless a difference is found elsewhere).
func sameShape(a, b *schema.Node, comparing map[pair]bool) bool {
	if a == b {
		return true
	}
	k := typeClass(kindOf(a))
	if k != typeClass(kindOf(b)) {
		return false
	}
	switch k {
	case kindMap:
		return sameShape(a.AdditionalProperties, b.AdditionalProperties, comparing)
	case kindList:
		return sameShape(a.Items, b.Items, comparing)
	case kindStruct:
		return sameStruct(a, b, comparing)
	}
	return true
}

func sameStruct(a, b *schema.Node, comparing map[pair]bool) bool {
	p := pair{a, b}
	if comparing[p] {
		return true
	}
	comparing[p] = true
	if open(a) != open(b) || (a.AdditionalProperties == nil) != (b.AdditionalProperties == nil) {
		return false
	}
	if a.AdditionalProperties != nil && !sameShape(a.AdditionalProperties, b.AdditionalProperties, comparing) {
		return false
	}
	names := fieldNames(a)
	if !slices.Equal(names, fieldNames(b)) {
		return false
	}
	for _, name := range names {
		if !sameShape(a.Properties[name], b.Properties[name], comparing) {
			return false
		}
	}
	return true
}

// sortedKeys lists the keys of an object in order.
func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}
