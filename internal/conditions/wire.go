package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/api/v1alpha1"
)

// FromUnstructured reads status.conditions of an object without Go type. What is not a condition is left out, so that a list which somebody spoiled
// is mended by the next write instead of stopping it.
func FromUnstructured(v any) []v1alpha1.Condition {
	items, ok := v.([]any)
	if !ok {
		return nil
	}
	var list []v1alpha1.Condition
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		c := v1alpha1.Condition{
			Type:    text(fields, "type"),
			Status:  metav1.ConditionStatus(text(fields, "status")),
			Reason:  text(fields, "reason"),
			Message: text(fields, "message"),
		}
		if c.Type == "" {
			continue
		}
		switch n := fields["observedGeneration"].(type) {
		case int64:
			c.ObservedGeneration = n
		case float64:
			c.ObservedGeneration = int64(n)
		}
		if at, err := time.Parse(time.RFC3339, text(fields, "lastTransitionTime")); err == nil {
			c.LastTransitionTime = seconds(at)
		}
		list = append(list, c)
	}
	return list
}

// ToUnstructured writes conditions as status.conditions of an object without Go type. The values are fresh.
func ToUnstructured(list []v1alpha1.Condition) []any {
	items := make([]any, 0, len(list))
	for _, c := range list {
		fields := map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message}
		if c.ObservedGeneration != 0 {
			fields["observedGeneration"] = c.ObservedGeneration
		}
		if !c.LastTransitionTime.IsZero() {
			fields["lastTransitionTime"] = c.LastTransitionTime.UTC().Format(time.RFC3339)
		}
		items = append(items, fields)
	}
	return items
}

func text(fields map[string]any, key string) string {
	s, _ := fields[key].(string)
	return s
}

// Transition is a condition whose status changed.
type Transition struct {
	Type string
	// From is empty for a condition that was not there.
	From, To metav1.ConditionStatus
	Reason   string
}

// Transitions lists the conditions of after whose status is not that of before, in the order of after.
func Transitions(before, after []v1alpha1.Condition) []Transition {
	old := map[string]metav1.ConditionStatus{}
	for _, c := range before {
		old[c.Type] = c.Status
	}
	var changed []Transition
	for _, c := range after {
		if old[c.Type] != c.Status {
			changed = append(changed, Transition{Type: c.Type, From: old[c.Type], To: c.Status, Reason: c.Reason})
		}
	}
	return changed
}
