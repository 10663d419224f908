package engine

import (
	"fmt"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/graph"
)

// Identity names one object on the server. The version is not part of it: two versions of a kind are one object.
type Identity struct {
	Group, Kind, Namespace, Name string
}

// String renders the identity for messages.
func (i Identity) String() string {
	kind := kschema.GroupKind{Group: i.Group, Kind: i.Kind}.String()
	if i.Namespace == "" {
		return kind + " " + i.Name
	}
	return kind + " " + i.Namespace + "/" + i.Name
}

// claim is who wants to write an identity in this pass.
type claim struct {
	node, item int
}

// ConflictError says that two nodes of one graph render the same object.
type ConflictError struct {
	First, Second string
	Identity      Identity
}

// Error names both nodes and the object.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("found resources with conflicts: resourceID: %s conflicts with resourceID: %s: both are %s",
		e.First, e.Second, e.Identity)
}

// CollisionError says that two items of one collection render the same object.
type CollisionError struct {
	Node     string
	Version  string
	Identity Identity
}

// Error names the collection and the object.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("node %q identity collision: duplicate identity: %s/%s/%s/%s/%s",
		e.Node, e.Identity.Group, e.Version, e.Identity.Kind, e.Identity.Namespace, e.Identity.Name)
}

// claimAll claims the objects of the nodes that were resolved in this round, before any of them is handed out. A node
// whose object another node wants too is refused; so is the other one, unless it was handed out in an earlier round.
func (p *Pass) claimAll(round []int) {
	refused := map[int]error{}
	for _, index := range round {
		n := &p.nodes[index]
		if n.def.Kind == graph.Patch {
			continue // a contribution claims fields, not the object
		}
		for item := range n.desired {
			id := n.desired[item].Identity
			holder, taken := p.claims[id]
			if !taken {
				p.claims[id] = claim{node: index, item: item}
				continue
			}
			refuse(refused, n, &p.nodes[holder.node], n.desired[item])
		}
	}
	for _, index := range round {
		if err := refused[index]; err != nil {
			p.fail(index, err)
		}
	}
}

func refuse(refused map[int]error, n, holder *node, d Desired) {
	if holder == n {
		refused[n.def.Index] = &CollisionError{Node: n.def.ID, Version: d.GVK.Version, Identity: d.Identity}
		return
	}
	err := &ConflictError{First: holder.def.ID, Second: n.def.ID, Identity: d.Identity}
	for _, other := range []*node{holder, n} {
		if refused[other.def.Index] == nil && other.phase != Running && other.phase != Observed {
			refused[other.def.Index] = err
		}
	}
}
