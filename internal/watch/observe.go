package watch

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// This file is the side of a Store that the watch writes to.

// sighting is one thing that the watch has brought about one object.
type sighting struct {
	// now is its state, nil when it is gone.
	now *unstructured.Unstructured
	// uid is that of the object that came, changed or went.
	uid types.UID
	// version is that of the event, or of the list that it was missing from.
	version version
	missing bool
}

// saw takes in one event of the watch.
func (s *Store) saw(obj *unstructured.Unstructured, deleted bool) {
	sight := sighting{now: obj, uid: obj.GetUID(), version: versionOf(obj)}
	if deleted {
		sight.now = nil
	}
	s.mu.Lock()
	s.progress = max(s.progress, sight.version)
	out := s.observe(nil, keyOf(obj), sight)
	s.mu.Unlock()
	s.deliver(out)
}

// bookmark takes in that the watch has come to a version.
func (s *Store) bookmark(v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = max(s.progress, v)
	s.passAll()
}

// replace takes in a complete list, at version v. It may sort the list: a streamed one comes in the order of a Go map.
func (s *Store) replace(listed []*unstructured.Unstructured, v version) {
	slices.SortFunc(listed, compareObjects)
	s.mu.Lock()
	if v < s.progress {
		// Time went backwards: the cluster was restored from a backup, or its server has no comparable versions. What was written then is history.
		for _, a := range s.ahead {
			a.forget()
		}
	}
	s.progress = v
	if len(s.objects.byKey) == 0 {
		s.objects.reset(len(listed))
	}

	out := make([]delivery, 0, len(listed))
	there := make(map[key]struct{}, len(listed))
	for _, obj := range listed {
		k := keyOf(obj)
		there[k] = struct{}{}
		out = s.observe(out, k, sighting{now: obj, uid: obj.GetUID(), version: versionOf(obj)})
	}
	for _, k := range s.knownKeys() {
		if _, ok := there[k]; !ok {
			out = s.observe(out, k, s.missed(k, v))
		}
	}
	s.passAll()

	first := !s.synced
	s.synced = true
	s.mu.Unlock()

	// Before the events, so that whoever they wake finds the source synced.
	if first {
		close(s.done)
		s.hooks.Synced(s.source.GVR, s.now().Sub(s.asked))
	}
	s.deliver(out)
}

// vanish takes in that the kind is no longer served, so that none of its objects exists.
func (s *Store) vanish() {
	s.mu.Lock()
	var out []delivery
	for _, k := range s.knownKeys() {
		if a := s.ahead[k]; a != nil {
			a.forget()
		}
		out = s.observe(out, k, s.missed(k, 0))
	}
	for k, a := range s.ahead {
		a.forget()
		s.settleView(k, a)
	}
	s.mu.Unlock()
	s.deliver(out)
}

// knownKeys are the keys of all objects that somebody may believe to be there, in order.
func (s *Store) knownKeys() []key {
	keys := slices.Collect(maps.Keys(s.objects.byKey))
	for k, a := range s.ahead {
		// A view may lack what the cache has (own delete), and have what the cache lacks (own create).
		_, seen := s.objects.byKey[k]
		if (a.cached != nil || a.shown != nil) && !seen {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// observe changes the view by what was seen, and appends what is to be forwarded.
func (s *Store) observe(out []delivery, k key, sight sighting) []delivery {
	before, now := s.objects.byKey[k], sight.now
	a := s.ahead[k]
	if a == nil {
		s.objects.put(k, now)
		return s.forward(out, before, now, before, "")
	}

	cached, shown := a.cached, a.shown
	known := a.knows(sight)
	a.caughtUp(sight)
	if a.writes > 0 {
		a.hold(before, cached, shown, sight)
		s.settleView(k, a)
		return append(out, delivery{kind: kindOf(cached, now)})
	}
	s.settleView(k, a)

	if !known && !sameContent(before, now) {
		return s.forward(out, before, now, cached, "")
	}
	if a.by == "" {
		return append(out, delivery{kind: kindOf(cached, now), routed: true})
	}
	// The writer knows. Others have to be told even if the cache has the same content as before: they may have looked in between, and seen the own write.
	d := delivery{kind: kindOf(cached, now), routed: true}
	if now == nil {
		cached = cmp.Or(cached, shown)
	}
	return append(out, s.addressed(d, cached, now, a.by))
}

// missed is the sighting of an object that somebody may believe to be there, and that a list lacks.
func (s *Store) missed(k key, v version) sighting {
	obj := s.objects.byKey[k]
	a := s.ahead[k]
	if a != nil && a.gone {
		return sighting{uid: a.deleted, version: v, missing: true}
	}
	// An own write that is newer than the list is not what it lacks.
	if a != nil && a.cached != nil && (a.own == nil || a.version > v) {
		obj = a.cached
	}
	if obj == nil {
		return sighting{version: v, missing: true}
	}
	return sighting{uid: obj.GetUID(), version: v, missing: true}
}

// settleView makes the view of one object what ahead says, and drops ahead when it says nothing more.
func (s *Store) settleView(k key, a *ahead) {
	s.objects.put(k, a.view())
	if a.idle() {
		delete(s.ahead, k)
	}
}

// passAll drops own writes that the cache must contain by now.
func (s *Store) passAll() {
	for k, a := range s.ahead {
		a.passed(s.progress)
		s.settleView(k, a)
	}
}

// aheadOf gives the entry for an object, a new one if need be.
func (s *Store) aheadOf(k key) *ahead {
	a := s.ahead[k]
	if a == nil {
		a = &ahead{cached: s.objects.byKey[k]}
		s.ahead[k] = a
	}
	return a
}
