package graph

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	kjson "sigs.k8s.io/json"
)

// decode reads JSON the way the API server reads objects: whole numbers become int64, other numbers float64. A key that
// is given twice is refused, since one of the two values would be lost without a word. Empty data is null.
func decode(data []byte) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	var value any
	strict, err := kjson.UnmarshalStrict(data, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, err
	}
	return value, errors.Join(strict...)
}

// decodeObject reads a JSON object; null is an empty one.
func decodeObject(data []byte) (map[string]any, error) {
	value, err := decode(data)
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return value, nil
	}
	return nil, fmt.Errorf("expected an object, got %s", jsonType(value))
}

// jsonType names the OpenAPI type of a JSON value.
func jsonType(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64, int:
		return "integer"
	case float64:
		if value == float64(int64(value)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", value)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
