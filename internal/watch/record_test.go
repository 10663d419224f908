package watch

import (
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// lone is a store that is fed by hand.
func lone(events told, src Source) *Store {
	store := newStore(src, logr.Discard(), Options{}.withDefaults(), newCompactor())
	store.subscribe("me", Interest{}, events.on)
	return store
}

// at is a ConfigMap ns/a as of a version.
func at(v int, uid, value string) *unstructured.Unstructured {
	obj := configMap("ns", "a", value)
	obj.SetUID(types.UID(uid))
	obj.SetResourceVersion(strconv.Itoa(v))
	return obj
}

func (e told) all() []string {
	var all []string
	for {
		select {
		case event := <-e:
			all = append(all, event)
		default:
			return all
		}
	}
}

// Each case tells a story of what the watch brings and what the owner writes, then says which events it is to get and what is to be seen at the end.
func TestOwnWrites(t *testing.T) {
	tests := map[string]struct {
		reason string
		story  func(s *Store)
		events []string
		view   string
		ahead  bool
	}{
		"StandsIn": {
			reason: "what was written is seen before the cache has it",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
			},
			view: "a=own", ahead: true,
		},
		"EventIsNoNews": {
			reason: "the event of an own write wakes nobody, and ends its standing in",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.saw(at(11, "u", "own"), false)
			},
			view: "a=own",
		},
		"OlderEventIsNoNews": {
			reason: "the answer to a write contains what others had written before",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(12, "u", "own"))
				s.saw(at(11, "u", "theirs"), false)
			},
			view: "a=own", ahead: true,
		},
		"NewerEventIsNews": {
			reason: "what others write afterwards is an event, and seen",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.saw(at(12, "u", "theirs"), false)
			},
			events: []string{"a=own>a=theirs"}, view: "a=theirs",
		},
		"Reverted": {
			reason: "drift back to what the cache had is drift",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.Record(at(11, "u", "own"))
				s.saw(at(11, "u", "own"), false)
				s.saw(at(12, "u", "old"), false)
			},
			events: []string{"+a=old", "a=own>a=old"}, view: "a=old",
		},
		"RecordedLate": {
			reason: "an event that came before the record is forwarded; the record must not bring back the past, and tells that it is overtaken",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.saw(at(11, "u", "own"), false)
				s.saw(at(12, "u", "theirs"), false)
				s.Record(at(11, "u", "own"))
			},
			events: []string{"+a=own", "a=own>a=theirs", "a=own>a=theirs"}, view: "a=theirs",
		},
		"RecordedAfterItWasDeleted": {
			reason: "an object that came and went before it was recorded must not stay as a ghost",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.saw(at(11, "u", "own"), false)
				s.saw(at(12, "u", "own"), true)
				s.Record(at(11, "u", "own"))
			},
			events: []string{"+a=own", "-a=own", "-a=own"},
		},
		"CaughtUpByList": {
			reason: "a list as new as the write contains it",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.replace([]*unstructured.Unstructured{at(11, "u", "own")}, 15)
			},
			view: "a=own",
		},
		"GoneFromList": {
			reason: "what a newer list lacks has been deleted by somebody",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.replace(nil, 15)
			},
			events: []string{"-a=own"},
		},
		"OldList": {
			reason: "a first list from the cache of a server may be older than the write",
			story: func(s *Store) {
				s.Record(at(11, "u", "own"))
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
			},
			view: "a=own", ahead: true,
		},
		"RestoredFromBackup": {
			reason: "when versions run backwards, what was written is history",
			story: func(s *Store) {
				s.replace(nil, 1000)
				s.Record(at(1001, "u", "own"))
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.saw(at(11, "u", "new"), false)
			},
			events: []string{"a=own>a=old", "a=old>a=new"}, view: "a=new",
		},
		"DeletedHides": {
			reason: "what was deleted is not seen any more, before the cache knows, and its last changes are no news",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.RecordDeleted(at(9, "u", "old"))
				s.saw(at(11, "u", "touched"), false)
			},
			events: []string{"+a=old"}, ahead: true,
		},
		"DeletedIsNoNews": {
			reason: "the event of an own delete wakes nobody",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.RecordDeleted(at(9, "u", "old"))
				s.saw(at(11, "u", "old"), true)
			},
			events: []string{"+a=old"},
		},
		"DeletedMissingFromList": {
			reason: "nor does the list in which it is missing",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.RecordDeleted(at(9, "u", "old"))
				s.replace(nil, 15)
			},
			events: []string{"+a=old"},
		},
		"Successor": {
			reason: "an object of the same name with another UID is another object",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.RecordDeleted(at(9, "u", "old"))
				s.saw(at(12, "v", "theirs"), false)
			},
			events: []string{"+a=old", "+a=theirs"}, view: "a=theirs",
		},
		"OwnSuccessor": {
			reason: "an own successor is seen at once, and the end of its predecessor is known",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.RecordDeleted(at(9, "u", "old"))
				s.Record(at(12, "v", "own"))
				s.saw(at(11, "u", "old"), true)
				s.saw(at(12, "v", "own"), false)
			},
			events: []string{"+a=old"}, view: "a=own",
		},
		"DeletedLate": {
			reason: "a delete that the cache knows already leaves nothing behind",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				s.saw(at(11, "u", "old"), true)
				s.RecordDeleted(at(9, "u", "old"))
			},
			events: []string{"+a=old", "-a=old"},
		},
		"CreatedAndDeleted": {
			reason: "an object that the cache has never seen is hidden while its past arrives",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.RecordDeleted(at(11, "u", "own"))
				s.saw(at(11, "u", "own"), false)
				s.saw(at(12, "u", "own"), true)
			},
		},
		"Expected": {
			reason: "an event that comes before the answer to its request waits, and is known then",
			story: func(s *Store) {
				s.replace(nil, 10)
				settle := s.Expect("ns", "a")
				s.saw(at(11, "u", "own"), false)
				s.Record(at(11, "u", "own"))
				settle()
				settle()
			},
			view: "a=own",
		},
		"ExpectedAndOvertaken": {
			reason: "a revert during the write is news, even though nothing seems to have changed",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				settle := s.Expect("ns", "a")
				s.saw(at(11, "u", "own"), false)
				s.saw(at(12, "u", "old"), false)
				s.Record(at(11, "u", "own"))
				settle()
			},
			events: []string{"+a=old", "a=old>a=old"}, view: "a=old",
		},
		"ExpectedAndDeletedByOthers": {
			reason: "an object that was deleted as soon as it was created is news",
			story: func(s *Store) {
				s.replace(nil, 10)
				settle := s.Expect("ns", "a")
				s.saw(at(11, "u", "own"), false)
				s.saw(at(12, "u", "own"), true)
				s.Record(at(11, "u", "own"))
				settle()
			},
			events: []string{"-a=own"},
		},
		"ExpectedInVain": {
			reason: "when the write failed, what waited is forwarded as one event",
			story: func(s *Store) {
				s.replace(nil, 10)
				settle := s.Expect("ns", "a")
				other := s.Expect("ns", "a")
				s.saw(at(11, "u", "1"), false)
				s.saw(at(12, "u", "2"), false)
				settle()
				other()
			},
			events: []string{"+a=2"}, view: "a=2",
		},
		"ExpectedDelete": {
			reason: "a delete whose event comes first",
			story: func(s *Store) {
				s.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
				settle := s.Expect("ns", "a")
				s.saw(at(11, "u", "old"), true)
				s.RecordDeleted(at(9, "u", "old"))
				settle()
			},
			events: []string{"+a=old"},
		},
		"NoNumbers": {
			reason: "a server without comparable versions has no overlay, and all its events are news",
			story: func(s *Store) {
				s.replace(nil, 0)
				obj := at(0, "u", "own")
				obj.SetResourceVersion("abc")
				s.Record(obj)
				s.saw(obj, false)
			},
			events: []string{"+a=own"}, view: "a=own",
		},
		"Bookmark": {
			reason: "a watch that has passed the write without an event has nothing to say about it",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.bookmark(10)
				s.bookmark(12)
			},
		},
		"KindGone": {
			reason: "when the kind is gone, so are own writes",
			story: func(s *Store) {
				s.replace(nil, 10)
				s.Record(at(11, "u", "own"))
				s.vanish()
			},
			events: []string{"-a=own"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			events := newTold()
			store := lone(events, Source{GVR: configMaps})
			tc.story(store)
			if diff := cmp.Diff(tc.events, events.all()); diff != "" {
				t.Errorf("%s\nevents: -want, +got:\n%s", tc.reason, diff)
			}
			view := ""
			if obj, ok := store.Get("ns", "a"); ok {
				view = describe(obj)
			}
			if view != tc.view {
				t.Errorf("%s\nGet: got %q, want %q", tc.reason, view, tc.view)
			}
			if got := len(store.ahead) > 0; got != tc.ahead {
				t.Errorf("%s\nkept beside the cache: %t, want %t", tc.reason, got, tc.ahead)
			}
		})
	}
}

func TestOthersAreTold(t *testing.T) {
	mine, theirs := newTold(), newTold()
	store := lone(mine, Source{GVR: configMaps})
	store.subscribe("other", Interest{}, theirs.on)
	store.replace([]*unstructured.Unstructured{at(9, "u", "old")}, 10)
	store.RecordAs("me", at(11, "u", "own"))
	store.saw(at(11, "u", "own"), false)
	settle := store.Expect("ns", "a")
	store.saw(at(12, "u", "own again"), false)
	store.RecordAs("me", at(12, "u", "own again"))
	settle()
	store.RecordDeletedAs("me", at(12, "u", "own again"))
	store.saw(at(13, "u", "own again"), true)
	if diff := cmp.Diff([]string{"+a=old"}, mine.all()); diff != "" {
		t.Errorf("events of the writer: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"+a=old", "a=old>a=own", "a=own>a=own again", "-a=own again"}, theirs.all()); diff != "" {
		t.Errorf("events of the other: -want, +got:\n%s", diff)
	}
}

func TestWritesThatLeaveTheSelection(t *testing.T) {
	owned := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		return labelled(obj, "kro.run/owned", "true")
	}
	events := newTold()
	store := lone(events, Source{GVR: configMaps, Selector: "kro.run/owned=true"})
	store.replace([]*unstructured.Unstructured{owned(at(9, "u", "old"))}, 10)
	store.Record(at(11, "u", "let go"))
	if _, ok := store.Get("ns", "a"); ok {
		t.Error("an object whose label was taken away is still seen")
	}
	store.saw(at(11, "u", "old"), true)
	store.saw(owned(at(12, "u", "back")), false)
	if diff := cmp.Diff([]string{"+a=old", "+a=back"}, events.all()); diff != "" {
		t.Errorf("events: -want, +got:\n%s", diff)
	}

	store.Record(at(13, "u", "let go"))
	store.saw(owned(at(14, "u", "back")), false)
	if obj, ok := store.Get("ns", "a"); !ok || describe(obj) != "a=back" {
		t.Error("an object that was put back into the selection is not seen")
	}
	store.Record(configMap("elsewhere", "never", "seen"))
	if len(store.ahead) != 0 {
		t.Errorf("%d entries kept beside the cache, want none", len(store.ahead))
	}
}

func TestRecordLeavesTheObjectAlone(t *testing.T) {
	events := newTold()
	store := lone(events, Source{GVR: configMaps})
	obj := at(11, "u", "own")
	obj.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "kro.run/applyset"}}
	before := obj.DeepCopy()
	store.Record(obj)
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Errorf("Record changed the object: -before, +after:\n%s", diff)
	}
	if seen, _ := store.Get("ns", "a"); len(seen.GetManagedFields()) != 0 {
		t.Error("managedFields are seen")
	}
}
