package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// delivery is what follows from one sighting: a count, and an event for some owners. It is made under the lock of the store and carried out without.
type delivery struct {
	// kind is what Hooks.Event is told; "" when it has been told.
	kind string
	// routed tells that owners were looked for, even if none is told.
	routed  bool
	event   Event
	targets []subscriber
}

// forward appends an event for all owners that it concerns but the one named skip, or none if nothing has changed. cached is the last state that the
// watch had brought.
func (s *Store) forward(out []delivery, old, new, cached *unstructured.Unstructured, skip string) []delivery {
	d := delivery{kind: kindOf(cached, new), routed: true}
	if !sameContent(old, new) {
		d = s.addressed(d, old, new, skip)
	}
	return append(out, d)
}

// addressed fills in an event and those that it concerns; none for an object that was not there and is not.
func (s *Store) addressed(d delivery, old, new *unstructured.Unstructured, skip string) delivery {
	if old == nil && new == nil {
		return d
	}
	d.event = Event{Source: s.source, Old: old, New: new}
	d.targets = s.router.match(nil, old, new, skip)
	return d
}

// deliver carries deliveries out. The lock must not be held: event functions may call back.
func (s *Store) deliver(out []delivery) {
	for _, d := range out {
		if d.kind != "" {
			s.hooks.Event(s.source.GVR, d.kind)
		}
		if d.routed {
			s.hooks.Routed(s.source.GVR, len(d.targets))
		}
		for _, target := range d.targets {
			s.call(target, d.event)
		}
	}
}

// call guards the watch against its listeners: a panic in one must not end the watch of all.
func (s *Store) call(target subscriber, event Event) {
	defer func() {
		if r := recover(); r != nil {
			obj := event.Object()
			s.log.Error(fmt.Errorf("panic: %v", r), "An event function failed", "owner", target.owner,
				"namespace", obj.GetNamespace(), "name", obj.GetName())
		}
	}()
	target.on(event)
}

// kindOf says in the words of the metric what became of an object; "" when nothing did.
func kindOf(before, now *unstructured.Unstructured) string {
	switch {
	case before == nil && now == nil:
		return ""
	case before == nil:
		return EventAdd
	case now == nil:
		return EventDelete
	}
	return EventUpdate
}
