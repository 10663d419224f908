package cel

import (
	"strconv"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"kro.run/kro/schema"
)

// Types turns schema nodes into CEL types. A struct type stands for a shape: two nodes with the same fields of the same shapes are one type, whichever
// kinds they belong to. Types are made when an expression first reaches them, so a Pod costs what is used of it. Safe for concurrent use.
type Types struct {
	mu      sync.RWMutex
	nodes   map[*schema.Node]*structType // every struct node met
	shapes  map[uint64][]*structType     // by shapeHash
	structs map[string]*structType       // by type name
}

// structType is one interned shape.
type structType struct {
	path string // where it was first met
	node *schema.Node
	typ  *celgo.Type
}

// NewTypes gives an empty Types.
func NewTypes() *Types {
	return &Types{
		nodes:   map[*schema.Node]*structType{},
		shapes:  map[uint64][]*structType{},
		structs: map[string]*structType{},
	}
}

const typePrefix = "__type_"

// Declare gives the CEL type of a node; path names a struct type that was not met before, for example "deployment.spec". A nil node is dyn.
//
// int-or-string, quantities and schemas without a type are dyn, a free-form object is dyn that is known to be an object, objects with named fields are
// structs (open ones with every further field as dyn), objects with one value schema are maps. Text of format byte is bytes, date and date-time are
// timestamps, duration is a duration.
func (t *Types) Declare(path string, n *schema.Node) *celgo.Type {
	switch kindOf(n) {
	case kindOpen:
		return openType
	case kindStruct:
		return t.intern(path, n).typ
	case kindMap:
		return celgo.MapType(celgo.StringType, t.Declare(path+".@elem", n.AdditionalProperties))
	case kindList:
		return celgo.ListType(t.Declare(path+".@idx", n.Items))
	case kindString:
		return celgo.StringType
	case kindBytes:
		return celgo.BytesType
	case kindDate, kindTimestamp:
		return celgo.TimestampType
	case kindDuration:
		return celgo.DurationType
	case kindBool:
		return celgo.BoolType
	case kindNumber:
		return celgo.DoubleType
	case kindInteger:
		return celgo.IntType
	}
	return celgo.DynType
}

// Node gives the schema that a struct type stands for, or nil when typ is no struct type of this Types.
func (t *Types) Node(typ *celgo.Type) *schema.Node {
	if s := t.lookup(typ.TypeName()); s != nil && typ.Kind() == celgo.StructKind {
		return s.node
	}
	return nil
}

func (t *Types) lookup(name string) *structType {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.structs[name]
}

func (t *Types) intern(path string, n *schema.Node) *structType {
	t.mu.RLock()
	s := t.nodes[n]
	t.mu.RUnlock()
	if s != nil {
		return s
	}
	hash := shapeHash(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.shapes[hash] {
		if sameShape(known.node, n, map[pair]bool{}) {
			t.nodes[n] = known
			return known
		}
	}
	s = &structType{path: path, node: n, typ: celgo.ObjectType(t.freeName(path))}
	t.nodes[n] = s
	t.shapes[hash] = append(t.shapes[hash], s)
	t.structs[s.typ.TypeName()] = s
	return s
}

// freeName gives the type name for a path; when another shape has that name, one with a number.
func (t *Types) freeName(path string) string {
	name := typePrefix + path
	for i := 2; t.structs[name] != nil; i++ {
		name = typePrefix + path + "~" + strconv.Itoa(i)
	}
	return name
}

// field gives the type of a field of a struct type. The name may be the one on the wire, even when it is a CEL keyword, or its escaped form.
func (t *Types) field(s *structType, name string) (*celgo.Type, bool) {
	child, ok := property(s.node, name)
	if raw := unescape(name); raw != name && s.node.Properties[name] == nil && s.node.Properties[raw] != nil {
		name = raw
		child, ok = property(s.node, raw)
	}
	if !ok {
		return nil, false
	}
	return t.Declare(s.path+"."+name, child), true
}

// unescape gives the name on the wire of an escaped name (`a__dash__b`, `__namespace__`), and any other name as it is.
func unescape(name string) string {
	if !escaped(name) {
		return name
	}
	if raw, ok := apiservercel.Unescape(name); ok {
		return raw
	}
	return name
}

// escaped says cheaply that a name may hold an escape.
func escaped(name string) bool {
	for i := 1; i < len(name); i++ {
		if name[i] == '_' && name[i-1] == '_' {
			return true
		}
	}
	return false
}

// provider lets cel-go ask Types; what Types does not know it asks the environment's own provider.
type provider struct {
	types *Types
	base  types.Provider
}

var _ types.Provider = provider{}

func (p provider) EnumValue(name string) ref.Val { return p.base.EnumValue(name) }

func (p provider) FindIdent(name string) (ref.Val, bool) { return p.base.FindIdent(name) }

func (p provider) FindStructType(name string) (*types.Type, bool) {
	if s := p.types.lookup(name); s != nil {
		return types.NewTypeTypeWithParam(s.typ), true
	}
	return p.base.FindStructType(name)
}

func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if s := p.types.lookup(name); s != nil {
		return fieldNames(s.node), true
	}
	return p.base.FindStructFieldNames(name)
}

func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if s := p.types.lookup(name); s != nil {
		typ, ok := p.types.field(s, field)
		return &types.FieldType{Type: typ}, ok
	}
	return p.base.FindStructFieldType(name, field)
}

// NewValue makes no values of struct types: they have no literal form.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if p.types.lookup(name) != nil {
		return types.NewErr("values of type %s cannot be constructed; write a map", name)
	}
	return p.base.NewValue(name, fields)
}
