package watch

import (
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// model is a cluster, a store that follows it late, a writer that acts through the store, and another owner that only listens. Both listeners keep in
// mind what they were told. However things interleave, in the end all must know the truth: a wake-up that is left out must not be missed.
type model struct {
	version int
	cluster map[string]*unstructured.Unstructured
	log     []change
	sent    int // what the watch has brought of the log

	store *Store
	// shared tells that own writes are recorded as the writer's, so that the other is told.
	shared bool
	writes map[string]*write
	// writer and other map names to what they know.
	writer, other map[string]string
	wakes         int
}

// write is an own write whose answer is under way.
type write struct {
	answer *unstructured.Unstructured // nil: it failed
	delete bool
	settle func()
	dirty  bool
}

var modelNames = []string{"a", "b"}

func newModel(shared bool) *model {
	m := &model{
		version: 10, cluster: map[string]*unstructured.Unstructured{}, shared: shared,
		writes: map[string]*write{}, writer: map[string]string{}, other: map[string]string{},
	}
	m.store = lone(newTold(), Source{GVR: configMaps})
	m.store.unsubscribe("me")
	m.store.subscribe("writer", Interest{}, func(e Event) {
		m.wakes++
		name := e.Object().GetName()
		if w := m.writes[name]; w != nil {
			w.dirty = true
			return
		}
		m.look(m.writer, name)
	})
	m.store.subscribe("other", Interest{}, func(e Event) { m.look(m.other, e.Object().GetName()) })
	m.store.replace(nil, version(m.version))
	return m
}

// look reads the store into a memory.
func (m *model) look(memory map[string]string, name string) {
	obj, ok := m.store.Get("ns", name)
	if !ok {
		delete(memory, name)
		return
	}
	memory[name] = describe(obj)
}

// put writes to the cluster; a write that changes nothing makes no version.
func (m *model) put(name, value string) *unstructured.Unstructured {
	old := m.cluster[name]
	if old != nil && describe(old) == name+"="+value {
		return old.DeepCopy()
	}
	m.version++
	obj := configMap("ns", name, value)
	obj.SetUID(types.UID(fmt.Sprint("uid-", m.version)))
	if old != nil {
		obj.SetUID(old.GetUID())
	}
	obj.SetResourceVersion(strconv.Itoa(m.version))
	m.cluster[name] = obj
	m.log = append(m.log, change{version: m.version, old: old, new: obj})
	return obj.DeepCopy()
}

func (m *model) remove(name string) *unstructured.Unstructured {
	old := m.cluster[name]
	if old == nil {
		return nil
	}
	m.version++
	delete(m.cluster, name)
	m.log = append(m.log, change{version: m.version, old: old})
	return old.DeepCopy()
}

// begin sends an own write; its answer comes with end.
func (m *model) begin(t *rapid.T, expect bool) {
	name := rapid.SampledFrom(modelNames).Draw(t, "name")
	if m.writes[name] != nil {
		return
	}
	w := &write{settle: func() {}}
	m.writes[name] = w
	if expect {
		w.settle = m.store.Expect("ns", name)
	}
	switch rapid.SampledFrom([]string{"put", "put", "delete", "fail"}).Draw(t, "verb") {
	case "put":
		w.answer = m.put(name, rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "value"))
	case "delete":
		w.delete = true
		w.answer = m.remove(name)
	}
}

// end takes in the answer to an own write.
func (m *model) end(name string) {
	w := m.writes[name]
	if w == nil {
		return
	}
	by := ""
	if m.shared {
		by = "writer"
	}
	switch {
	case w.answer == nil:
	case w.delete:
		m.store.RecordDeletedAs(by, w.answer)
		delete(m.writer, name)
	default:
		m.store.RecordAs(by, w.answer)
		m.writer[name] = describe(w.answer)
	}
	w.settle()
	delete(m.writes, name)
	if w.dirty {
		m.look(m.writer, name)
	}
}

// send lets the watch bring one change.
func (m *model) send() {
	if m.sent == len(m.log) {
		return
	}
	c := m.log[m.sent]
	m.sent++
	if c.new != nil {
		m.store.saw(c.new.DeepCopy(), false)
		return
	}
	last := c.old.DeepCopy()
	last.SetResourceVersion(strconv.Itoa(c.version))
	m.store.saw(last, true)
}

// list lets the watch start anew, at some point of the log that has not been sent.
func (m *model) list(t *rapid.T) {
	m.sent = rapid.IntRange(m.sent, len(m.log)).Draw(t, "list up to")
	state, v := map[string]*unstructured.Unstructured{}, 10
	for _, c := range m.log[:m.sent] {
		v = c.version
		if c.new != nil {
			state[c.new.GetName()] = c.new.DeepCopy()
			continue
		}
		delete(state, c.old.GetName())
	}
	var listed []*unstructured.Unstructured
	for _, obj := range state {
		listed = append(listed, obj)
	}
	m.store.replace(listed, version(v))
}

// check compares what everybody knows with the truth, once all is quiet.
func (m *model) check(t *rapid.T) {
	for _, name := range modelNames {
		m.end(name)
	}
	for m.sent < len(m.log) {
		m.send()
	}
	m.store.bookmark(version(m.version))
	for _, name := range modelNames {
		want, seen := "", ""
		if obj := m.cluster[name]; obj != nil {
			want = describe(obj)
		}
		if obj, ok := m.store.Get("ns", name); ok {
			seen = describe(obj)
		}
		if seen != want {
			t.Fatalf("the store has %q, the cluster %q", seen, want)
		}
		if m.writer[name] != want {
			t.Fatalf("the writer knows %q, the cluster has %q", m.writer[name], want)
		}
		if m.shared && m.other[name] != want {
			t.Fatalf("the other knows %q, the cluster has %q", m.other[name], want)
		}
	}
	if n := len(m.store.ahead); n != 0 {
		t.Fatalf("%d entries are kept beside the cache in the end", n)
	}
}

func TestNobodyMissesTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.Bool().Draw(t, "shared"))
		name := rapid.SampledFrom(modelNames)
		t.Repeat(map[string]func(*rapid.T){
			"foreign put": func(t *rapid.T) {
				m.put(name.Draw(t, "name"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "value"))
			},
			"foreign delete": func(t *rapid.T) { m.remove(name.Draw(t, "name")) },
			"begin":          func(t *rapid.T) { m.begin(t, rapid.Bool().Draw(t, "expect")) },
			"end":            func(t *rapid.T) { m.end(name.Draw(t, "name")) },
			"send":           func(*rapid.T) { m.send() },
			"send more":      func(*rapid.T) { m.send() },
			"bookmark":       func(*rapid.T) { m.store.bookmark(m.store.progress) },
			"list":           func(t *rapid.T) { m.list(t) },
		})
		m.check(t)
	})
}

// One who writes alone, and says so beforehand, is never woken.
func TestOwnWritesWakeNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.Bool().Draw(t, "shared"))
		name := rapid.SampledFrom(modelNames)
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) { m.begin(t, true) },
			"end":   func(t *rapid.T) { m.end(name.Draw(t, "name")) },
			"send":  func(*rapid.T) { m.send() },
			"list":  func(t *rapid.T) { m.list(t) },
		})
		m.check(t)
		if m.wakes != 0 {
			t.Fatalf("the writer was woken %d times", m.wakes)
		}
	})
}
