package instance

import (
	"kro.run/kro/engine"
	"kro.run/kro/graph"
)

// showsGraph tells whether the status of the kind has room for the state of the nodes: the author may have declared a
// field of that name, and an operator may have switched it off.
func (p *pass) showsGraph() bool {
	program := p.kind.definition.Program
	return p.Options.StatusGraph && program != nil && program.ShowsGraph()
}

// graphStatus tells which revision the instance runs and how each node is. The hashes of what was applied make the
// status the memory of the controller over a restart.
func (p *pass) graphStatus(r *result) map[string]any {
	nodes := make([]any, 0, len(r.outcome.Nodes))
	for _, n := range r.outcome.Nodes {
		nodes = append(nodes, nodeStatus(n, r.hashes[n.Node.ID]))
	}
	return map[string]any{"revision": p.kind.definition.Revision, "nodes": nodes}
}

func nodeStatus(n engine.NodeOutcome, hash string) map[string]any {
	out := map[string]any{"id": n.Node.ID, "state": n.State()}
	if n.Message != "" {
		out["message"] = n.Message
	}
	if hash != "" {
		out["hash"] = hash
	}
	if n.Node.Kind != graph.Template || n.Phase == engine.Excluded {
		return out
	}
	out["kind"] = n.Node.GVK.Kind
	switch {
	case n.Node.Collection:
		out["items"] = int64(len(n.Desired))
	case len(n.Desired) == 1:
		out["name"] = n.Desired[0].Identity.Name
		if namespace := n.Desired[0].Identity.Namespace; namespace != "" {
			out["namespace"] = namespace
		}
	}
	return out
}

// trusted reads the hashes of what each node applied last from the status of the instance. They hold only for this
// incarnation of it: a restored backup may carry the status of another.
func (p *pass) trusted() map[string]string {
	status, _ := p.instance.Object["status"].(map[string]any)
	shown, _ := status[fieldGraph].(map[string]any)
	nodes, _ := shown["nodes"].([]any)
	hashes := make(map[string]string, len(nodes))
	for _, entry := range nodes {
		node, _ := entry.(map[string]any)
		id, _ := node["id"].(string)
		if hash, ok := node["hash"].(string); ok {
			hashes[id] = hash
		}
	}
	return hashes
}
