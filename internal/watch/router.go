package watch

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
)

// subscriber is an owner of a source and what it wants to be called with.
type subscriber struct {
	owner string
	on    func(Event)
}

// router knows the owners of one source, and finds those that an event concerns in time that does not depend on how many there are.
type router struct {
	interests   map[string]Interest
	subscribers map[Interest][]subscriber // ordered by owner
}

// put adds an owner, or replaces its interest and function.
func (r *router) put(owner string, only Interest, on func(Event)) {
	if !narrows(only.Index) {
		only = Interest{}
	}
	r.remove(owner)
	if r.interests == nil {
		r.interests, r.subscribers = map[string]Interest{}, map[Interest][]subscriber{}
	}
	r.interests[owner] = only
	i, _ := find(r.subscribers[only], owner)
	r.subscribers[only] = slices.Insert(r.subscribers[only], i, subscriber{owner: owner, on: on})
}

// remove takes an owner away, if it is there.
func (r *router) remove(owner string) {
	only, ok := r.interests[owner]
	if !ok {
		return
	}
	delete(r.interests, owner)
	i, _ := find(r.subscribers[only], owner)
	left := slices.Delete(r.subscribers[only], i, i+1)
	if len(left) == 0 {
		delete(r.subscribers, only)
		return
	}
	r.subscribers[only] = left
}

// owners is how many there are.
func (r *router) owners() int { return len(r.interests) }

// match appends the subscribers that an event concerns to targets, without the one named skip.
func (r *router) match(targets []subscriber, old, new *unstructured.Unstructured, skip string) []subscriber {
	start := len(targets)
	targets = append(targets, r.subscribers[Interest{}]...)
	for _, index := range [...]string{IndexPartOf, IndexInstanceID, IndexName} {
		before, after := indexValue(index, old), indexValue(index, new)
		if before != "" {
			targets = append(targets, r.subscribers[Interest{Index: index, Value: before}]...)
		}
		if after != "" && after != before {
			targets = append(targets, r.subscribers[Interest{Index: index, Value: after}]...)
		}
	}
	if skip == "" {
		return targets
	}
	kept := slices.DeleteFunc(targets[start:], func(s subscriber) bool { return s.owner == skip })
	return targets[:start+len(kept)]
}

func find(subscribers []subscriber, owner string) (int, bool) {
	return slices.BinarySearchFunc(subscribers, owner, func(s subscriber, owner string) int { return strings.Compare(s.owner, owner) })
}

func narrows(index string) bool {
	return index == IndexPartOf || index == IndexInstanceID || index == IndexName
}

// indexValue is the value under which obj stands in an index, "" when it does not.
func indexValue(index string, obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	switch index {
	case IndexPartOf:
		return label(obj, v1alpha1.PartOfLabel)
	case IndexInstanceID:
		return label(obj, v1alpha1.InstanceIDLabel)
	}
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}

// label reads one label without copying all of them.
func label(obj *unstructured.Unstructured, key string) string {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	value, _ := labels[key].(string)
	return value
}
