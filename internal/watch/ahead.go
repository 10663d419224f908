package watch

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// version is a resource version as the number that it is (KEP-5504). 0 stands for one that is no number, as some aggregated servers have: it is
// neither newer nor older than anything, so for them there is no overlay, and own writes are events like others.
type version uint64

func versionOf(obj *unstructured.Unstructured) version { return parseVersion(obj.GetResourceVersion()) }

func parseVersion(text string) version {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return version(number)
}

// ahead is what a store knows about one object beyond its cache: own writes that the watch has not brought yet, and writes that are under way. It
// exists only as long as there is something of the kind.
type ahead struct {
	// cached is the state that the watch has brought, nil if none. The view of the store may differ from it.
	cached *unstructured.Unstructured
	// own is the state that the last own write made, as long as the cache is behind it.
	own *unstructured.Unstructured
	// shown is an own state that others may have seen before it was deleted again, without the watch ever having brought it.
	shown *unstructured.Unstructured
	// gone hides the object with the UID deleted from the view, until the cache has seen it go.
	gone bool
	// deleted is the UID of the object that the last own delete removed. left tells that it was not deleted, but taken out of the selection.
	deleted types.UID
	left    bool
	// version is that of the last own write. What happened up to it is known to whoever wrote: the answer to a write contains it.
	version version
	// by is the owner that wrote, "" when nobody is to be woken.
	by string
	// writes counts the writes under way, see Store.Expect. While there are any, events wait in held.
	writes int
	held   *held
}

// held is the sum of the events that came while a write was under way.
type held struct {
	// before is the view before the first of them, cached what the watch had brought before it.
	before, cached *unstructured.Unstructured
	// last is the last state in which the object was there.
	last *unstructured.Unstructured
	// sight is the last of them.
	sight sighting
}

// view is the object as it is to be seen.
func (a *ahead) view() *unstructured.Unstructured {
	if a.own != nil {
		return a.own
	}
	// What the cache has may also be a predecessor of the object that was deleted.
	if a.gone && a.cached != nil && (a.cached.GetUID() == a.deleted || versionOf(a.cached) <= a.version) {
		return nil
	}
	return a.cached
}

// knows tells whether a sighting is an own write, or older than one and so part of what its answer said.
func (a *ahead) knows(sight sighting) bool {
	if a.deleted != "" && sight.uid == a.deleted && !a.returned(sight) {
		return true
	}
	return sight.version != 0 && sight.version <= a.version
}

// returned tells whether a sighting is of an object that an own write took out of the selection, and that somebody else has put back.
func (a *ahead) returned(sight sighting) bool {
	return a.left && sight.now != nil && sight.version > a.version
}

// caughtUp takes in what the watch has brought.
func (a *ahead) caughtUp(sight sighting) {
	// Whatever it is, others are told of it.
	a.cached, a.shown = sight.now, nil
	// A sighting that cannot be ordered is taken for the newest.
	older := sight.version != 0 && sight.version < a.version
	if a.own != nil && !older {
		a.own = nil
	}
	switch {
	case a.returned(sight):
		a.gone = false
	case sight.now != nil && sight.uid == a.deleted:
		// Its last changes, on the way to the delete that is known already.
	case sight.now == nil && !sight.missing && sight.uid == a.deleted:
		a.gone = false
	case !older:
		a.gone = false
	}
}

// passed takes in that the cache is complete up to version v, whatever events there were.
func (a *ahead) passed(v version) {
	if a.version > v {
		return
	}
	a.own = nil
	if a.cached == nil {
		a.gone = false
	}
}

// forget drops all that was written, because it says nothing about the cluster any more.
func (a *ahead) forget() { a.own, a.gone, a.deleted, a.left, a.version = nil, false, "", false, 0 }

// idle tells that the cache alone says it all again.
func (a *ahead) idle() bool { return a.own == nil && !a.gone && a.writes == 0 }
