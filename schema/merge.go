package schema

import (
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// merge is an allOf that has to wait until the schemas it refers to are converted, since those may refer back.
type merge struct {
	from  []*Node
	props *apiextensionsv1.JSONSchemaProps
}

func (c *converter) postpone(n *Node, m merge) {
	if c.pending == nil {
		c.pending = map[*Node]merge{}
	}
	c.pending[n] = m
	c.order = append(c.order, n)
}

func (c *converter) waits(n *Node) bool {
	_, waits := c.pending[n]
	return waits
}

// finish carries out the postponed merges. No node may be published before.
func (c *converter) finish() {
	for i := 0; i < len(c.order); i++ { // settling may postpone more
		c.settle(c.order[i])
	}
	c.order = nil
}

// settle merges into n what its allOf lists, after settling those. Taking a merge off the list first ends a schema that contains itself.
func (c *converter) settle(n *Node) {
	m, waits := c.pending[n]
	if !waits {
		return
	}
	delete(c.pending, n)
	for _, from := range m.from {
		c.settle(from)
		mergeInto(n, from)
	}
	c.settleType(n, m.props)
}

// mergeInto adds to n what it does not say itself.
func mergeInto(n, from *Node) {
	if n.Type == "" {
		n.Type, n.Format = from.Type, from.Format
	}
	if n.Properties == nil && from.Properties != nil {
		n.Properties = make(map[string]*Node, len(from.Properties))
	}
	own := maps.Clone(n.Properties)
	maps.Copy(n.Properties, from.Properties)
	maps.Copy(n.Properties, own)
	n.Required = sorted(append(n.Required[:len(n.Required):len(n.Required)], from.Required...))
	if n.Items == nil {
		n.Items = from.Items
	}
	if n.AdditionalProperties == nil {
		n.AdditionalProperties = from.AdditionalProperties
	}
	if n.Union == nil {
		n.Union = from.Union
	}
	n.AnyAdditional = n.AnyAdditional || from.AnyAdditional
	n.PreserveUnknown = n.PreserveUnknown || from.PreserveUnknown
	n.IntOrString = n.IntOrString || from.IntOrString
	n.EmbeddedResource = n.EmbeddedResource || from.EmbeddedResource
	n.Nullable = n.Nullable || from.Nullable
}
