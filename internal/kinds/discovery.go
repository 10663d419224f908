package kinds

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"kro.run/kro/schema"
)

// mapping is where a kind is served.
type mapping struct {
	gvr        kschema.GroupVersionResource
	namespaced bool
}

// directory is the server's discovery, turned around: from kinds to where they are.
type directory struct {
	kinds map[kschema.GroupKind]mapping
	// failed groups could not be listed, since the API server behind them does not answer.
	failed map[string]error
}

func newDirectory(groups []*metav1.APIGroup, lists []*metav1.APIResourceList, failed map[kschema.GroupVersion]error) *directory {
	d := &directory{kinds: map[kschema.GroupKind]mapping{}, failed: map[string]error{}}
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, list := range lists {
		byVersion[list.GroupVersion] = list
	}
	for _, group := range groups {
		d.add(group.PreferredVersion.GroupVersion, byVersion)
		for _, version := range group.Versions {
			d.add(version.GroupVersion, byVersion)
		}
	}
	for gv, err := range failed {
		d.failed[gv.Group] = err
	}
	return d
}

// add enters the kinds of a group version that are not served in a more preferred one.
func (d *directory) add(groupVersion string, lists map[string]*metav1.APIResourceList) {
	gv, err := kschema.ParseGroupVersion(groupVersion)
	list := lists[groupVersion]
	if err != nil || list == nil {
		return
	}
	for _, resource := range list.APIResources {
		if strings.Contains(resource.Name, "/") {
			continue // a subresource, such as deployments/scale
		}
		gk := kschema.GroupKind{Group: gv.Group, Kind: resource.Kind}
		if _, taken := d.kinds[gk]; !taken {
			d.kinds[gk] = mapping{gvr: gv.WithResource(resource.Name), namespaced: resource.Namespaced}
		}
	}
}

func (d *directory) find(gk kschema.GroupKind) (mapping, error) {
	if found, known := d.kinds[gk]; known {
		return found, nil
	}
	if err := d.failed[gk.Group]; err != nil {
		return mapping{}, fmt.Errorf("looking where %s is served: its API group cannot be listed: %w", gk, err)
	}
	return mapping{}, notServed(gk)
}

func notServed(gk kschema.GroupKind) error {
	return &schema.NotFoundError{GVK: gk.WithVersion("")}
}

// readDirectory asks the server: two requests where discovery is aggregated.
func readDirectory(ctx context.Context, client discovery.ServerResourcesInterfaceWithContext) (*directory, error) {
	groups, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, fmt.Errorf("reading which kinds are served: %w", err)
	}
	return newDirectory(groups, lists, failed), nil
}

// lookup finds a kind in the directory, in a fresh one if it is not in the one at hand.
func lookup(ctx context.Context, r *remembered[*directory], gk kschema.GroupKind) (mapping, error) {
	known, err := r.get(ctx)
	if err != nil {
		return mapping{}, err
	}
	if found, err := known.find(gk); err == nil {
		return found, nil
	}
	if known, err = r.recheck(ctx); err != nil {
		return mapping{}, err
	}
	return known.find(gk)
}

// lag is how long discovery and OpenAPI may go on to show a kind whose CRD is gone.
const lag = 30 * time.Second

// departed remembers the kinds whose CRD has gone lately, so that what the server still publishes of them is not believed.
type departed struct {
	now func() time.Time

	mu   sync.Mutex
	when map[kschema.GroupKind]time.Time
}

func (d *departed) add(gk kschema.GroupKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.when, func(_ kschema.GroupKind, t time.Time) bool { return d.now().Sub(t) > lag })
	d.when[gk] = d.now()
}

func (d *departed) remove(gk kschema.GroupKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.when, gk)
}

func (d *departed) has(gk kschema.GroupKind) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, gone := d.when[gk]
	return gone && d.now().Sub(t) <= lag
}
