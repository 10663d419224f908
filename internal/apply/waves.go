package apply

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
)

// NextWave gives those members that deletion has to take next: all of the highest apply-order that is left, dependents before what they depend on.
// The wave below it starts only when they have disappeared, so those that are terminating already are among them. Members without a valid order
// are wave 0, the last. The result is ordered by kind, namespace and name; it is empty when members is.
func NextWave(members []*unstructured.Unstructured) (wave int, objs []*unstructured.Unstructured) {
	for _, member := range members {
		order := applyOrder(member)
		if order > wave {
			wave, objs = order, nil
		}
		if order == wave {
			objs = append(objs, member)
		}
	}
	slices.SortStableFunc(objs, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetKind(), b.GetKind()),
			cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()),
		)
	})
	return wave, objs
}

// applyOrder reads the wave of an object; 0 when it has none that makes sense.
func applyOrder(obj *unstructured.Unstructured) int {
	order, err := strconv.Atoi(obj.GetAnnotations()[v1alpha1.ApplyOrderAnnotation])
	if err != nil || order < 0 {
		return 0
	}
	return order
}
