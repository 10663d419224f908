package graph

import (
	"cmp"
	"slices"
)

// Faults are found phase by phase but told in the order of the document, so each is filed under its place.

// The fields of a document in the order in which faults are told. Those of the API share one space with those of nodes:
// the API comes first as node apiPlace.
const (
	fieldNames = iota
	fieldSpec
	fieldStatus
	fieldConditions

	fieldID
	fieldForEach
	fieldIncludeWhen
	fieldBody
	fieldReadyWhen
	fieldGraph
)

const apiPlace = -1

// place is a position in the document. Within a field, ordinal follows the text from the top.
type place struct {
	node, field, ordinal int
	path                 string
}

type fault struct {
	at place
	d  Diagnostic
}

// report files a fault under its place.
func (c *compiler) report(at place, d Diagnostic) {
	d.Path = at.path
	c.faults = append(c.faults, fault{at, d})
}

// reportAPI files a fault of the API's declaration.
func (c *compiler) reportAPI(field int, path string, d Diagnostic) {
	c.report(place{node: apiPlace, field: field, path: path}, d)
}

// diagnostics returns all faults in the order of the document. Of faults at the same place the one found first comes
// first: later phases build on earlier ones.
func (c *compiler) diagnostics() Diagnostics {
	slices.SortStableFunc(c.faults, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.at.node, b.at.node), cmp.Compare(a.at.field, b.at.field), cmp.Compare(a.at.ordinal, b.at.ordinal))
	})
	ds := make(Diagnostics, len(c.faults))
	for i, f := range c.faults {
		ds[i] = f.d
	}
	return ds
}
