package executor

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/internal/apply"
)

// Memory remembers what was applied last to each object of each instance, so that an apply that would change nothing
// is not sent.
//
// Equality of the desired object with what stands on the server is not enough to leave an apply out: a field that the
// template has given up would stay owned for ever. So the desired object must also be the one applied last.
type Memory struct {
	mu     sync.Mutex
	owners map[string]map[slot]applied
	ceded  map[string]map[Key]ceded // see external.go
	doubts map[string]map[Key]bool  // see doubt.go
}

// slot is what one manager applies to one object: kro's own objects have the manager "", contributions that of their patch.
type slot struct {
	Key
	manager string
}

// applied is what is known of the last apply of one object.
type applied struct {
	desired string // content hash of the object sent
	version string // resourceVersion of the answer
	result  string // content hash of the answer without status and server-side metadata; for values that the server normalises
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{owners: map[string]map[slot]applied{}, ceded: map[string]map[Key]ceded{}, doubts: map[string]map[Key]bool{}}
}

// Forget drops all that is known of an instance.
func (m *Memory) Forget(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
	delete(m.ceded, owner)
	delete(m.doubts, owner)
}

func (m *Memory) drop(owner string, key slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners[owner], key)
}

func (m *Memory) lookup(owner string, key slot) (applied, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.owners[owner][key]
	return a, ok
}

func (m *Memory) store(owner string, key slot, a applied) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.owners[owner]
	if keys == nil {
		keys = map[slot]applied{}
		m.owners[owner] = keys
	}
	keys[key] = a
}

// record notes the answer of an apply.
func (m *Memory) record(owner string, key slot, desired string, answer *unstructured.Unstructured) {
	m.store(owner, key, applied{desired: desired, version: answer.GetResourceVersion(), result: key.result(answer)})
}

// appliedBefore tells that a desired object is the one that was applied last.
func (m *Memory) appliedBefore(owner string, key slot, hash string) bool {
	last, known := m.lookup(owner, key)
	return known && last.desired == hash
}

// inOrder tells that applying the desired object again would change nothing on the observed one. The trusted hash, from
// the status of the instance, stands in for memory after a restart.
func (m *Memory) inOrder(owner string, key slot, desired *unstructured.Unstructured, hash string, observed *unstructured.Unstructured, trusted bool) bool {
	last, known := m.lookup(owner, key)
	if !known {
		if !trusted || !apply.Contains(observed.Object, desired.Object) {
			return false
		}
		m.record(owner, key, hash, observed)
		return true
	}
	if last.desired != hash {
		return false
	}
	if last.version == observed.GetResourceVersion() {
		return true
	}
	if !apply.Contains(observed.Object, desired.Object) && (last.result == "" || last.result != key.result(observed)) {
		return false
	}
	last.version = observed.GetResourceVersion()
	m.store(owner, key, last)
	return true
}

// result is the content of an object as far as an apply decides it. Of a contribution nothing is told: it stands in an object of somebody else, who
// changes the rest as he likes, so only the fields themselves count.
func (s slot) result(object *unstructured.Unstructured) string {
	if s.manager != "" {
		return ""
	}
	return resultHash(object)
}

// resultHash is the content of an object as far as an apply decides it.
func resultHash(object *unstructured.Unstructured) string {
	content := make(map[string]any, len(object.Object))
	for k, v := range object.Object {
		if k != "status" && k != "metadata" {
			content[k] = v
		}
	}
	metadata := map[string]any{}
	if labels := object.GetLabels(); len(labels) > 0 {
		metadata["labels"] = stringMap(labels)
	}
	if annotations := object.GetAnnotations(); len(annotations) > 0 {
		metadata["annotations"] = stringMap(annotations)
	}
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		list := make([]any, len(finalizers))
		for i, f := range finalizers {
			list[i] = f
		}
		metadata["finalizers"] = list
	}
	metadata["uid"] = string(object.GetUID())
	content["metadata"] = metadata
	return apply.ContentHash(content)
}

func stringMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}
