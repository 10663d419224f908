package graph

import "kro.run/kro/api/v1alpha1"

// FromGraph reads a Graph. It judges nothing; inline graphs stay as they are until Compile reads them. The source shares
// the memory of the spec, which must not be changed while the source is in use.
func FromGraph(name, namespace string, spec *v1alpha1.GraphSpec) Source {
	src := Source{Door: GraphDoor, Name: name, Namespace: namespace}
	if spec == nil {
		return src
	}
	for i := range spec.Nodes {
		src.Nodes = append(src.Nodes, graphNodeSource(&spec.Nodes[i]))
	}
	return src
}

func graphNodeSource(n *v1alpha1.GraphNode) *NodeSource {
	src := &NodeSource{
		ID: n.ID, Template: raw(n.Template), Ref: refSource(n.Ref), Definition: raw(n.Def), Patch: raw(n.Patch), Graph: raw(n.Graph),
		ForEach: dimensions(n.ForEach), IncludeWhen: n.IncludeWhen, ReadyWhen: n.ReadyWhen,
		DeletionPolicy: n.DeletionPolicy, ExternalFields: n.ExternalFields,
	}
	if n.Watch != nil {
		src.Watch = refSource(n.Watch)
	}
	return src
}
