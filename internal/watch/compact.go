package watch

import (
	"hash/maphash"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A cache holds thousands of objects that look much the same: the children that one definition makes for each of its instances. compactor
// lets equal strings, and equal branches (a securityContext, a strategy, an affinity), share memory, and drops managedFields.
//
// What it remembers is bounded: each table has two generations, and forgets the older when the younger is full. Forgetting costs sharing, never truth.
type compactor struct {
	mu   sync.Mutex
	seed maphash.Seed
	// strings holds them as the interface values that they are in an object: the header of a string in an interface is memory, too.
	strings generations[string, any]
	// sighted holds the hashes of branches that were met once. Only what is met again is kept in branches, so that branches that are
	// unique, which are the most, are not kept alive by it.
	sighted  generations[uint64, struct{}]
	branches generations[uint64, any]
}

const (
	// longestShared bounds the strings that are shared: names, types and label values are, certificates are not.
	longestShared = 64
	// generationSize bounds each generation of a table; the tables of a fleet stay below about 2 MB.
	generationSize = 8192
)

func newCompactor() *compactor { return &compactor{seed: maphash.MakeSeed()} }

// compact changes obj in place, before anybody else sees it.
func (c *compactor) compact(obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	metadata, _ := obj.Object["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	for key, value := range obj.Object {
		if key == "metadata" {
			continue
		}
		c.put(obj.Object, key, value)
	}
	// Metadata as a whole is never equal to that of another object, its parts may be.
	for key, value := range metadata {
		c.put(metadata, key, value)
	}
	if metadata != nil {
		obj.Object[c.key("metadata")] = metadata
	}
}

// put replaces an entry by its shared form and gives a hash of the entry. Go's maps take the memory of the key that is assigned last.
func (c *compactor) put(object map[string]any, key string, value any) uint64 {
	value, hash := c.value(value)
	key = c.key(key)
	object[key] = value
	return mix(maphash.String(c.seed, key), hash)
}

// value gives the shared form of a value, and a hash of its content.
func (c *compactor) value(boxed any) (any, uint64) {
	switch value := boxed.(type) {
	case string:
		return c.shared(value, boxed), maphash.String(c.seed, value)
	case map[string]any:
		// A sum does not depend on the order in which a map is walked.
		hash := uint64(len(value)) + 1
		for key, entry := range value {
			hash += c.put(value, key, entry)
		}
		return c.branch(boxed, mix(hash, 'm'))
	case []any:
		hash := uint64(len(value)) + 1
		for i, element := range value {
			shared, elementHash := c.value(element)
			value[i] = shared
			hash = mix(hash, elementHash)
		}
		return c.branch(boxed, mix(hash, 'l'))
	case int64:
		return boxed, mix(uint64(value), 'i')
	case float64:
		return boxed, mix(math.Float64bits(value), 'd')
	case bool:
		if value {
			return boxed, 't'
		}
		return boxed, 'f'
	}
	return boxed, 'n'
}

// shared gives the one copy of a string that is kept. boxed is the string again, as it was found.
func (c *compactor) shared(s string, boxed any) any {
	if len(s) > longestShared {
		return boxed
	}
	if kept, ok := c.strings.get(s); ok {
		return kept
	}
	c.strings.put(s, boxed)
	return boxed
}

// key is shared for the keys of maps.
func (c *compactor) key(s string) string {
	if len(s) > longestShared {
		return s
	}
	if kept, ok := c.strings.get(s); ok {
		return kept.(string)
	}
	c.strings.put(s, s)
	return s
}

// branch gives the one copy of a map or list that is kept, if it has been met before.
func (c *compactor) branch(value any, hash uint64) (any, uint64) {
	if kept, ok := c.branches.get(hash); ok {
		// The hash is not proof. Parts of both are shared already, so this hardly descends.
		if sameJSON(kept, value) {
			return kept, hash
		}
		return value, hash
	}
	if _, ok := c.sighted.get(hash); ok {
		c.branches.put(hash, value)
		return value, hash
	}
	c.sighted.put(hash, struct{}{})
	return value, hash
}

// mix combines two hashes, order counts (the finaliser of MurmurHash3).
func mix(a, b uint64) uint64 {
	h := a*0x9e3779b97f4a7c15 + b
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}

// generations is a map that forgets what has not been asked for lately, at no cost but a second map.
type generations[K comparable, V any] struct {
	young, old map[K]V
}

func (g *generations[K, V]) get(key K) (V, bool) {
	if value, ok := g.young[key]; ok {
		return value, true
	}
	value, ok := g.old[key]
	if ok {
		g.put(key, value)
	}
	return value, ok
}

func (g *generations[K, V]) put(key K, value V) {
	if g.young == nil || len(g.young) >= generationSize {
		g.old, g.young = g.young, make(map[K]V)
	}
	g.young[key] = value
}
