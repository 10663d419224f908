package cel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter turns native values into CEL values: JSON values become views.
type adapter struct{}

var _ types.Adapter = adapter{}

// NativeToValue never fails; what has no CEL form is an error value.
func (adapter) NativeToValue(v any) ref.Val { return plain(v) }

// sortedMap visits the keys of a map in order. cel-go's own maps visit them in Go's random order, and a list made from them would differ each time it
// is evaluated, which an object that is applied cannot afford.
type sortedMap struct {
	traits.Mapper
}

// inOrder gives a range to iterate over whose order is always the same.
func inOrder(v ref.Val) ref.Val {
	switch m := v.(type) {
	case *object, *instance, *sortedMap:
		return m
	case traits.Mapper:
		return &sortedMap{m}
	}
	return v
}

func (m *sortedMap) keys() []ref.Val {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// Iterator visits the keys in order.
func (m *sortedMap) Iterator() traits.Iterator {
	keys := m.keys()
	return &iterator{size: len(keys), at: func(i int) ref.Val { return keys[i] }}
}

// Fold visits the entries in order.
func (m *sortedMap) Fold(f traits.Folder) {
	for _, key := range m.keys() {
		value, _ := m.Find(key)
		if !f.FoldEntry(key, value) {
			return
		}
	}
}

// compareKeys orders keys of one type by value, and others by the name of their type.
func compareKeys(a, b ref.Val) int {
	switch x := a.(type) {
	case types.String:
		if y, ok := b.(types.String); ok {
			return strings.Compare(string(x), string(y))
		}
	case types.Int:
		if y, ok := b.(types.Int); ok {
			return cmp.Compare(x, y)
		}
	case types.Uint:
		if y, ok := b.(types.Uint); ok {
			return cmp.Compare(x, y)
		}
	case types.Bool:
		if y, ok := b.(types.Bool); ok {
			return int(x.Compare(y).(types.Int))
		}
	}
	return strings.Compare(a.Type().TypeName(), b.Type().TypeName())
}
