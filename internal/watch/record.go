package watch

import (
	"cmp"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// This file is the side of a Store that writers tell what they have written.

// Record puts the object that the server returned for an own write in front of the cache until the cache has caught up. From now on obj is shared
// and read-only. The event of the write wakes nobody; where others watch the same source, use RecordAs.
//
// When the event came before Record was called, it was forwarded, unless Expect kept it back. That is harmless: one look that finds nothing to do.
// When the cache already holds something newer, or knows that the object is gone, there is an event that says so, in the call itself: the writer
// knows what it wrote, and has to learn that it was overtaken.
func (s *Store) Record(obj *unstructured.Unstructured) { s.RecordAs("", obj) }

// RecordAs is Record for a source that others watch too: the event of the write does not wake owner, but wakes them.
func (s *Store) RecordAs(owner string, obj *unstructured.Unstructured) {
	if versionOf(obj) == 0 {
		return
	}
	s.mu.Lock()
	out := s.record(owner, obj)
	s.mu.Unlock()
	s.deliver(out)
}

// record is RecordAs under the lock.
func (s *Store) record(owner string, obj *unstructured.Unstructured) []delivery {
	if !s.matches(obj) {
		// The write took the object out of the selection.
		s.leave(owner, obj)
		return nil
	}
	k, v := keyOf(obj), versionOf(obj)
	a := s.ahead[k]
	// The watch brings versions in order: one that it has passed is in the cache, or has been overtaken there.
	late := v <= s.progress
	if late && (a == nil || a.held == nil || a.held.sight.version < v) {
		return s.overtaken(k, obj)
	}
	a = s.aheadOf(k)
	if v <= a.version || a.deleted != "" && obj.GetUID() == a.deleted && !a.left {
		return nil
	}
	// From here on it is the version alone that tells what is known, also of a predecessor that was deleted.
	a.version, a.by, a.deleted, a.left = v, owner, "", false
	if late {
		return nil
	}
	a.own, a.gone = withoutManagedFields(obj), false
	s.settleView(k, a)
	return nil
}

// overtaken gives the event that follows from an own write being older than what the store has.
func (s *Store) overtaken(k key, obj *unstructured.Unstructured) []delivery {
	now := s.objects.byKey[k]
	if now != nil && versionOf(now) <= versionOf(obj) || sameContent(obj, now) {
		return nil
	}
	return []delivery{s.addressed(delivery{routed: true}, obj, now, "")}
}

// RecordDeleted hides an object whose own delete was answered by the server with "gone" until the cache knows it, or has a successor with another UID.
// An object that is terminating is not gone: Record it. The event of the delete wakes nobody; where others watch the same source, use
// RecordDeletedAs.
func (s *Store) RecordDeleted(obj *unstructured.Unstructured) { s.RecordDeletedAs("", obj) }

// RecordDeletedAs is RecordDeleted for a source that others watch too.
func (s *Store) RecordDeletedAs(owner string, obj *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide(owner, obj)
}

// hide takes an object out of the view until the cache follows.
func (s *Store) hide(owner string, obj *unstructured.Unstructured) {
	k, uid, v := keyOf(obj), obj.GetUID(), versionOf(obj)
	seen := s.objects.byKey[k]
	// Otherwise the cache has seen it go already, and no event would ever take the entry away again.
	pending := seen != nil && seen.GetUID() == uid || v > s.progress
	a := s.ahead[k]
	if !pending && (a == nil || a.writes == 0) {
		return
	}
	a = s.aheadOf(k)
	a.deleted, a.by = uid, owner
	if a.own != nil && a.own.GetUID() != uid {
		// A successor has been written already.
		return
	}
	a.version, a.shown = max(a.version, v), cmp.Or(a.own, a.shown)
	a.own, a.gone, a.left = nil, pending, false
	s.settleView(k, a)
}

// leave is hide for an object that an own write took out of the selection. It may come back.
func (s *Store) leave(owner string, obj *unstructured.Unstructured) {
	k := keyOf(obj)
	if seen := s.objects.byKey[k]; seen == nil || seen.GetUID() != obj.GetUID() || versionOf(obj) <= versionOf(seen) {
		return
	}
	s.hide(owner, obj)
	if a := s.ahead[k]; a != nil {
		a.left = true
	}
}

// Expect keeps the events of one object back while a write to it is under way, so that those of the write itself, which may come before the answer
// to the request, are known for what they are. Call settle in any case, after Record; a second call does nothing. What others did meanwhile is then
// forwarded as one event. Reading is not held up.
func (s *Store) Expect(namespace, name string) (settle func()) {
	k := key{namespace: namespace, name: name}
	s.mu.Lock()
	s.aheadOf(k).writes++
	s.mu.Unlock()
	return sync.OnceFunc(func() { s.settle(k) })
}

// settle ends one write, and after the last lets go of the events that were kept back.
func (s *Store) settle(k key) {
	s.mu.Lock()
	var out []delivery
	a := s.aheadOf(k)
	a.writes--
	if a.writes == 0 && a.held != nil {
		out = s.letGo(a)
	}
	s.settleView(k, a)
	s.mu.Unlock()
	s.deliver(out)
}

// letGo decides what becomes of the events that were kept back.
func (s *Store) letGo(a *ahead) []delivery {
	h := a.held
	a.held = nil
	now, known := h.sight.now, a.knows(h.sight)
	before, cached := h.before, h.cached
	if now == nil {
		// It came and went while the events waited.
		before, cached = cmp.Or(before, h.last), cmp.Or(cached, h.last)
	}
	wrote := a.version != 0 || a.deleted != ""
	d := delivery{routed: true}
	switch {
	case known && a.by == "":
	case known:
		d = s.addressed(d, cached, now, a.by)
	case wrote || !sameContent(before, now):
		// After an own write it does not matter that the object is what it was before: it is not what the writer has been told.
		d = s.addressed(d, before, now, "")
	}
	return []delivery{d}
}

// hold adds a sighting to those that wait.
func (a *ahead) hold(before, cached, shown *unstructured.Unstructured, sight sighting) {
	if a.held == nil {
		a.held = &held{before: before, cached: cached, last: cmp.Or(before, cached, shown)}
	}
	if sight.now != nil {
		a.held.last = sight.now
	}
	a.held.sight = sight
}

// withoutManagedFields is obj as the cache would hold it. obj itself is left alone: its writer may be reading it.
func withoutManagedFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	if _, ok := metadata["managedFields"]; !ok {
		return obj
	}
	slim := maps.Clone(metadata)
	delete(slim, "managedFields")
	object := maps.Clone(obj.Object)
	object["metadata"] = slim
	return &unstructured.Unstructured{Object: object}
}
