package definition

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/programs"
)

// choose decides what the instances run: the newest revision that compiles. One that no longer does, because a kind has changed, gives way to what
// the instances run already; after a restart, to the program of an older revision.
func (c *Controller) choose(_ context.Context, p *pass) error {
	p.pick(c.compileAll(p))
	p.sayFallback()
	hashes := []string{p.hash}
	if newest := p.lineage.latest(); newest != nil {
		hashes = append(hashes, p.hashOf(newest))
	}
	for _, used := range []*offer{p.chosen, p.memory.served} {
		if used != nil {
			hashes = append(hashes, used.hash)
		}
	}
	c.Programs.Retain(p.rgd.Name, hashes...)
	return nil
}

// sayFallback adds to the failure of the newest revision what runs instead.
func (p *pass) sayFallback() {
	failed, _ := p.Get(revisionsResolved)
	newest := p.lineage.latest()
	if failed.Status != metav1.ConditionFalse || newest == nil || p.chosen == nil {
		return
	}
	instead := fmt.Sprintf("revision %d goes on serving", p.chosen.revision)
	if p.chosen.revision == newest.Spec.Revision {
		instead = "it goes on serving as it was compiled before"
	}
	p.False(revisionsResolved, reasonFailed, messageLatestFailed(newest.Spec.Revision)+"; "+instead)
}

// contender is a revision that might be served.
type contender struct {
	offer
	result programs.Result
}

// compileAll yields the revisions, the newest first, each compiled only when it is come to: most definitions never need the second.
func (c *Controller) compileAll(p *pass) func(yield func(contender) bool) {
	return func(yield func(contender) bool) {
		for i, r := range p.lineage.newestFirst() {
			if i == 1 {
				metrics.RegistryMissed(metrics.MissRuntimeMissing)
			}
			result := c.compile(p, r)
			c.lookForMissing(p, revisionsResolved, result)
			offer := offer{revision: r.Spec.Revision, hash: p.hashOf(r), program: result.Program, uid: p.rgd.UID}
			if !yield(contender{offer, result}) {
				return
			}
		}
	}
}

// pick decides between contenders that come newest first.
func (p *pass) pick(contenders func(func(contender) bool)) {
	p.chosen, p.newest = nil, false
	first := true
	for contender := range contenders {
		switch {
		case contender.result.Valid():
			p.chosen, p.newest = &contender.offer, first
			return
		case first && p.memory.served != nil:
			p.chosen = p.memory.served
			return
		case contender.program != nil:
			p.chosen, p.newest = &contender.offer, first
			return
		case contender.result.Err != nil:
			// It is not known whether this one works. To fall back now would take objects away from the instances for a hiccup of the API server.
			p.without = contender.result.Error()
			return
		}
		if first {
			p.without = contender.result.Error()
		}
		first = false
	}
	if p.chosen == nil && first {
		p.chosen = p.memory.served
		p.without = p.document.Error()
	}
}
