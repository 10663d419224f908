package engine

// Meter is told what a pass evaluates, for metrics: the engine itself has no clock and counts nothing. Each function may be nil; they are called from
// the goroutine that drives the pass and must not block.
type Meter struct {
	// Node is called when a node begins to be evaluated; what it returns, once that has ended.
	Node func() (ended func(err error))
	// Inclusion: it was asked whether a node is excluded.
	Inclusion func(excluded bool)
	// Readiness: it was asked whether a node is ready.
	Readiness func(ready bool)
	// Collection: a forEach gave so many items.
	Collection func(items int)
}

func (m Meter) node() (ended func(err error)) {
	if m.Node == nil {
		return func(error) {}
	}
	return m.Node()
}

func (m Meter) inclusion(excluded bool) {
	if m.Inclusion != nil {
		m.Inclusion(excluded)
	}
}

func (m Meter) readiness(ready bool) {
	if m.Readiness != nil {
		m.Readiness(ready)
	}
}

func (m Meter) collection(items int) {
	if m.Collection != nil {
		m.Collection(items)
	}
}
