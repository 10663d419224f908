package objects

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

type condition = metav1.Condition

// conditionsOf reads status.conditions as far as they are conditions.
func conditionsOf(object *unstructured.Unstructured) []condition {
	list, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	var conditions []condition
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		var c condition
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

// describe lists conditions for a message, one a line.
func describe(conditions []condition) string {
	if len(conditions) == 0 {
		return "it has no conditions: nothing has looked at it yet"
	}
	var b strings.Builder
	for _, c := range conditions {
		b.WriteString("\n    " + c.Type + "=" + string(c.Status) + " " + c.Reason)
		if c.Message != "" {
			b.WriteString(": " + c.Message)
		}
	}
	return b.String()
}
