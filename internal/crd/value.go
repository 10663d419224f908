package crd

import (
	"bytes"
	"encoding/json"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// sameJSON compares two values by what they mean: 1.0 is 1, < is \u003c, the order of keys and blanks does not matter.
func sameJSON(a, b *apiextensionsv1.JSON) bool {
	if isNull(a) || isNull(b) {
		return isNull(a) == isNull(b)
	}
	return bytes.Equal(a.Raw, b.Raw) || textOf(a) == textOf(b)
}

func isNull(v *apiextensionsv1.JSON) bool {
	return v == nil || len(v.Raw) == 0 || string(bytes.TrimSpace(v.Raw)) == "null"
}

// textOf writes a value as JSON for people: keys sorted, no blanks, < > & as they are, numbers in their shortest form.
func textOf(v *apiextensionsv1.JSON) string {
	if isNull(v) {
		return "null"
	}
	decoder := json.NewDecoder(bytes.NewReader(v.Raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(v.Raw)
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shortest(value)); err != nil {
		return string(v.Raw)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// shortest writes numbers the one way that the API server does: whole ones as integers where they fit, all others as Go writes a float.
func shortest(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = shortest(v)
		}
	case []any:
		for i, v := range value {
			value[i] = shortest(v)
		}
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		if f, err := value.Float64(); err == nil {
			return f
		}
	}
	return value
}

func textOfAll(values []apiextensionsv1.JSON) string {
	texts := make([]string, 0, len(values))
	for i := range values {
		texts = append(texts, textOf(&values[i]))
	}
	return "[" + strings.Join(texts, ",") + "]"
}
