package graph

import "slices"

// ShowsGraph tells whether kro may write its own field `graph` into the status of instances: the generated CRD has it,
// and it is not a field of the author.
func (p *Program) ShowsGraph() bool {
	if p.Instance == nil || p.Instance.CRD == nil || slices.Contains(p.Status.root.names, graphField) {
		return false
	}
	for _, v := range p.Instance.CRD.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			_, has := v.Schema.OpenAPIV3Schema.Properties["status"].Properties[graphField]
			return has
		}
	}
	return false
}
