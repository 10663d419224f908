package cel

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kro.run/kro/schema"
)

// object is the view of a JSON object. A node of nil reads all of it without a schema, with null as a value; under a schema a null property is
// absent.
type object struct {
	node   *schema.Node
	fields map[string]any
}

var (
	_ traits.Mapper   = (*object)(nil)
	_ traits.Foldable = (*object)(nil)
)

// Find gives the field with the key, also by its escaped name.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	if name, ok := key.(types.String); ok {
		return o.field(string(name))
	}
	if types.IsUnknownOrError(key) {
		return key, false
	}
	return nil, false
}

func (o *object) field(name string) (ref.Val, bool) {
	raw, ok := o.fields[name]
	if o.node == nil {
		if !ok {
			return nil, false
		}
		return plain(raw), true
	}
	if !ok && escaped(name) {
		name = o.declared(name)
		raw = o.fields[name]
	}
	if raw == nil {
		return nil, false
	}
	return view(o.child(name), raw), true
}

// declared gives the name on the wire of a field that the schema declares; keys of maps are never escaped.
func (o *object) declared(name string) string {
	if raw := unescape(name); o.node.Properties[raw] != nil {
		return raw
	}
	return name
}

// child gives the schema of a field, nil when it has none.
func (o *object) child(name string) *schema.Node {
	if child, ok := o.node.Properties[name]; ok {
		return child
	}
	return o.node.AdditionalProperties
}

// Get gives the field with the key or the error of its absence.
func (o *object) Get(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

// Contains says whether the field is there.
func (o *object) Contains(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if !ok && v != nil {
		return v
	}
	return types.Bool(ok)
}

// names lists the fields that are there, sorted.
func (o *object) names() []string {
	names := sortedKeys(o.fields)
	if o.node == nil {
		return names
	}
	kept := names[:0]
	for _, name := range names {
		if o.fields[name] != nil {
			kept = append(kept, name)
		}
	}
	return kept
}

func (o *object) size() int {
	n := len(o.fields)
	if o.node == nil {
		return n
	}
	for _, v := range o.fields {
		if v == nil {
			n--
		}
	}
	return n
}

// Size is the number of fields that are there.
func (o *object) Size() ref.Val { return types.Int(o.size()) }

// IsZeroValue says that the object is empty.
func (o *object) IsZeroValue() bool { return o.size() == 0 }

// Iterator visits the field names in sorted order.
func (o *object) Iterator() traits.Iterator {
	names := o.names()
	return &iterator{size: len(names), at: func(i int) ref.Val { return types.String(names[i]) }}
}

// Fold visits the fields in sorted order.
func (o *object) Fold(f traits.Folder) {
	for _, name := range o.names() {
		v, _ := o.field(name)
		if !f.FoldEntry(types.String(name), v) {
			return
		}
	}
}

// Equal compares field by field with any map.
func (o *object) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok {
		return types.False
	}
	return equalMaps(o, m)
}

func equalMaps(a, b traits.Mapper) ref.Val {
	if a.Size() != b.Size() {
		return types.False
	}
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		mine, _ := a.Find(key)
		theirs, ok := b.Find(key)
		if !ok {
			return types.False
		}
		if eq := types.Equal(mine, theirs); eq != types.True {
			return eq
		}
	}
	return types.True
}

// ConvertToNative gives the bare map where that is wanted, and what cel-go makes of a map of its own otherwise.
func (o *object) ConvertToNative(want reflect.Type) (any, error) {
	if reflect.TypeFor[map[string]any]().AssignableTo(want) {
		return o.fields, nil
	}
	if reflect.TypeOf(o).AssignableTo(want) {
		return o, nil
	}
	entries := make(map[ref.Val]ref.Val, len(o.fields))
	for _, name := range o.names() {
		entries[types.String(name)], _ = o.field(name)
	}
	return types.NewRefValMap(adapter{}, entries).ConvertToNative(want)
}

// ConvertToType allows map and type.
func (o *object) ConvertToType(want ref.Type) ref.Val {
	switch want {
	case types.MapType:
		return o
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.MapType, want)
}

// Type is map: at run time all objects are maps.
func (o *object) Type() ref.Type { return types.MapType }

// Value gives the object itself, so that what reads a field from a bare value still reads it by its schema.
func (o *object) Value() any { return o }

// iterator visits elements by position. It has to be a value for cel-go, but never is used as one.
type iterator struct {
	next, size int
	at         func(int) ref.Val
}

var _ traits.Iterator = (*iterator)(nil)

func (it *iterator) HasNext() ref.Val { return types.Bool(it.next < it.size) }

func (it *iterator) Next() ref.Val {
	if it.next >= it.size {
		return nil
	}
	it.next++
	return it.at(it.next - 1)
}

func (it *iterator) Type() ref.Type { return types.IteratorType }

func (it *iterator) Value() any { return nil }

func (it *iterator) Equal(ref.Val) ref.Val { return types.NoSuchOverloadErr() }

func (it *iterator) ConvertToType(ref.Type) ref.Val { return types.NoSuchOverloadErr() }

func (it *iterator) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("an iterator cannot be converted to %v", want)
}
