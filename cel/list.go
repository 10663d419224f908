package cel

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kro.run/kro/schema"
)

// list is the view of a JSON array.
type list struct {
	items *schema.Node
	elems []any
}

var (
	_ traits.Lister   = (*list)(nil)
	_ traits.Foldable = (*list)(nil)
)

func (l *list) elem(i int) ref.Val { return view(l.items, l.elems[i]) }

// values gives the elements as CEL values in a slice of their own.
func (l *list) values() []ref.Val {
	values := make([]ref.Val, len(l.elems))
	for i := range l.elems {
		values[i] = l.elem(i)
	}
	return values
}

// Add gives a new list that shares no backing array with either side.
func (l *list) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	values := l.values()
	for it := o.Iterator(); it.HasNext() == types.True; {
		values = append(values, it.Next())
	}
	return types.NewRefValList(adapter{}, values)
}

// Contains says whether an element equals the value.
func (l *list) Contains(value ref.Val) ref.Val {
	for i := range l.elems {
		if types.Equal(l.elem(i), value) == types.True {
			return types.True
		}
	}
	return types.False
}

// Get gives the element at an index; an index outside is the error of data that is not there.
func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}
	if i < 0 || i >= len(l.elems) {
		return types.NewErr("index out of bounds: %d", i)
	}
	return l.elem(i)
}

// Size is the number of elements.
func (l *list) Size() ref.Val { return types.Int(len(l.elems)) }

// IsZeroValue says that the list is empty.
func (l *list) IsZeroValue() bool { return len(l.elems) == 0 }

// Iterator visits the elements in order.
func (l *list) Iterator() traits.Iterator {
	return &iterator{size: len(l.elems), at: l.elem}
}

// Fold visits the elements in order, with their index.
func (l *list) Fold(f traits.Folder) {
	for i := range l.elems {
		if !f.FoldEntry(types.Int(i), l.elem(i)) {
			return
		}
	}
}

// Equal compares element by element with any list.
func (l *list) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok || o.Size() != l.Size() {
		return types.False
	}
	for i := range l.elems {
		if eq := types.Equal(l.elem(i), o.Get(types.Int(i))); eq != types.True {
			return eq
		}
	}
	return types.True
}

// ConvertToNative gives the bare slice where that is wanted, and what cel-go makes of a list of its own otherwise.
func (l *list) ConvertToNative(want reflect.Type) (any, error) {
	if reflect.TypeOf(l.elems).AssignableTo(want) {
		return l.elems, nil
	}
	if reflect.TypeOf(l).AssignableTo(want) {
		return l, nil
	}
	return types.NewRefValList(adapter{}, l.values()).ConvertToNative(want)
}

// ConvertToType allows list and type.
func (l *list) ConvertToType(want ref.Type) ref.Val {
	switch want {
	case types.ListType:
		return l
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.ListType, want)
}

// Type is list.
func (l *list) Type() ref.Type { return types.ListType }

// Value gives the list itself; see object.Value.
func (l *list) Value() any { return l }
