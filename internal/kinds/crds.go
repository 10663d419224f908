package kinds

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

// CRDInfo is what is kept of a CustomResourceDefinition. It is immutable.
type CRDInfo struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Generation changes whenever the spec does.
	Generation int64
	Labels     map[string]string

	Group, Kind, Plural string
	Namespaced          bool
	// Versions in the order of spec.versions.
	Versions []Version
	// Established tells that the server has accepted the names and serves the kind.
	Established bool
}

// Version is one version of a CRD.
type Version struct {
	Name            string
	Served, Storage bool
}

// Serves tells whether the CRD serves objects of the given version.
func (i *CRDInfo) Serves(name string) bool {
	return i.Established && slices.ContainsFunc(i.Versions, func(v Version) bool { return v.Served && v.Name == name })
}

// Served lists the names of the served versions, the preferred one first: v1 before v1beta1, v2 before v1.
func (i *CRDInfo) Served() []string {
	var names []string
	for _, v := range i.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	return names
}

func (i *CRDInfo) groupKind() schema.GroupKind { return schema.GroupKind{Group: i.Group, Kind: i.Kind} }

// Change tells of a CRD that came, changed or went. There is none for a change of nothing but the status (other than Established) or annotations.
type Change struct {
	// Name of the CRD.
	Name                string
	Group, Kind, Plural string
	// Versions that it serves, the preferred one first.
	Versions []string
	Labels   map[string]string
	// SpecChanged: the spec differs from the one seen before, or there was none.
	SpecChanged bool
	// Established: the kind is served now.
	Established bool
	// Deleted: the CRD is gone; the other fields tell what it was.
	Deleted bool
}

// crdIndex is all that is known of the cluster's CRDs. The reflector writes it, from one goroutine.
type crdIndex struct {
	done chan struct{} // closed when all CRDs are known for the first time

	mu     sync.RWMutex
	synced bool
	byName map[string]*CRDInfo
	// byKind: more than one when CRDs compete for a kind, of which at most one is established.
	byKind map[schema.GroupKind][]*CRDInfo
	// appeared and gone are told each kind that has a CRD, and that has none any more.
	appeared, gone func(schema.GroupKind)
	subscribers    []func(Change)
}

func newCRDIndex(appeared, gone func(schema.GroupKind)) *crdIndex {
	return &crdIndex{done: make(chan struct{}), byName: map[string]*CRDInfo{}, byKind: map[schema.GroupKind][]*CRDInfo{}, appeared: appeared, gone: gone}
}

func (x *crdIndex) subscribe(to func(Change)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.subscribers = append(slices.Clip(x.subscribers), to)
}

// get finds a CRD by name.
func (x *crdIndex) get(name string) (*CRDInfo, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	info, known := x.byName[name]
	return info, known
}

// find gives the CRD that defines a kind, nil when none does, and whether all CRDs are known.
func (x *crdIndex) find(gk schema.GroupKind) (info *CRDInfo, synced bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	rivals := x.byKind[gk]
	for _, rival := range rivals {
		if rival.Established {
			return rival, x.synced
		}
	}
	if len(rivals) == 0 {
		return nil, x.synced
	}
	return rivals[0], x.synced
}

// put takes in a CRD as it is now, and tells the subscribers what that changes.
func (x *crdIndex) put(info *CRDInfo) {
	x.mu.Lock()
	old := x.byName[info.Name]
	x.unlink(old)
	x.byName[info.Name] = info
	gk := info.groupKind()
	x.byKind[gk] = append(slices.Clip(x.byKind[gk]), info)
	x.appeared(gk)
	x.leave(old)
	subscribers := x.subscribers
	x.mu.Unlock()

	change := changeOf(info)
	change.SpecChanged = old == nil || old.UID != info.UID || old.Generation != info.Generation
	if change.SpecChanged || old.Established != info.Established || !maps.Equal(old.Labels, info.Labels) {
		tell(subscribers, change)
	}
}

// remove takes out a CRD that is gone.
func (x *crdIndex) remove(name string) {
	x.mu.Lock()
	old := x.byName[name]
	x.unlink(old)
	delete(x.byName, name)
	x.leave(old)
	subscribers := x.subscribers
	x.mu.Unlock()
	if old == nil {
		return
	}
	change := changeOf(old)
	change.Established, change.Deleted = false, true
	tell(subscribers, change)
}

// replace takes in the whole list of CRDs.
func (x *crdIndex) replace(all []*CRDInfo) {
	present := make(map[string]bool, len(all))
	for _, info := range all {
		present[info.Name] = true
	}
	x.mu.RLock()
	var vanished []string
	for name := range x.byName {
		if !present[name] {
			vanished = append(vanished, name)
		}
	}
	x.mu.RUnlock()
	slices.Sort(vanished)
	for _, name := range vanished {
		x.remove(name)
	}
	for _, info := range all {
		x.put(info)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.synced {
		x.synced = true
		close(x.done)
	}
}

// unlink takes a CRD's old state out of byKind.
func (x *crdIndex) unlink(old *CRDInfo) {
	if old == nil {
		return
	}
	gk := old.groupKind()
	rest := slices.DeleteFunc(slices.Clone(x.byKind[gk]), func(info *CRDInfo) bool { return info == old })
	x.byKind[gk] = rest
	if len(rest) == 0 {
		delete(x.byKind, gk)
	}
}

// leave says so when a CRD was the last of its kind.
func (x *crdIndex) leave(old *CRDInfo) {
	if old == nil {
		return
	}
	if gk := old.groupKind(); len(x.byKind[gk]) == 0 {
		x.gone(gk)
	}
}

func changeOf(info *CRDInfo) Change {
	return Change{
		Name: info.Name, Group: info.Group, Kind: info.Kind, Plural: info.Plural,
		Versions: info.Served(), Labels: info.Labels, Established: info.Established,
	}
}

func tell(subscribers []func(Change), change Change) {
	for _, subscriber := range subscribers {
		subscriber(change)
	}
}
