package definition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/gobuffalo/flect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/crd"
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/version"
)

// grace is how long a new CRD may take to be established, and a changed one to be known, before the status speaks of it. A healthy API server takes
// some ten milliseconds, and one status write less is a faster definition.
const grace = 2 * time.Second

// published is a CRD as it was when it was last made what it should be.
type published struct {
	program         string // its hash
	uid             types.UID
	generation      int64
	resourceVersion string
	labels          map[string]string
	// at is when it was written or found so.
	at time.Time
}

// stands says whether the CRD that the catalog shows is still that one, and established. A catalog that is behind the own write is no news.
func (m *published) stands(program *graph.Program, info kinds.CRDInfo) bool {
	if m == nil || m.program != program.Hash || m.uid != info.UID || !info.Established {
		return false
	}
	return newer(m.resourceVersion, info.ResourceVersion) || m.generation == info.Generation && maps.Equal(m.labels, info.Labels)
}

// shown says whether the catalog has caught up with the CRD. The API server learns of a new schema in the same way and at the same time as the
// catalog. Whoever runs the new program before that gets objects without the new defaults, and loses new fields of the status to the old schema.
func (m *published) shown(info kinds.CRDInfo) bool {
	return info.UID == m.uid && info.Generation >= m.generation
}

// publish makes the CRD of the newest revision, and says in KindReady what came of it. A revision is served with its CRD or not at all: where the CRD
// is refused, the instances stay with the pair of program and CRD that they have.
func (c *Controller) publish(ctx context.Context, p *pass) error {
	name := crdName(p.rgd)
	if name != "" {
		c.notes.claim(p.rgd.Name, name)
	}
	info, exists := c.Catalog.CRD(name)
	if p.chosen == nil || !p.newest && exists {
		return nil // nothing to publish, or an older revision, which runs on under the CRD that there is
	}
	if !exists || !p.memory.published.stands(p.chosen.program, info) {
		result, err := c.ensure(ctx, p)
		if err != nil {
			return c.refused(ctx, p, name, err)
		}
		p.memory.published = &published{
			program: p.chosen.program.Hash, uid: result.CRD.UID, generation: result.CRD.Generation,
			resourceVersion: result.CRD.ResourceVersion, labels: result.CRD.Labels, at: c.now(),
		}
		if !crd.Established(result.CRD) {
			p.await(result.CRD, c.now())
			return nil
		}
		info, _ = c.Catalog.CRD(name)
	}
	if !p.memory.published.shown(info) && c.now().Sub(p.memory.published.at) < grace {
		p.unserved, p.hush, p.after = true, true, grace
		return nil
	}
	p.kindIsReady(p.chosen.program.Instance.CRD.Spec.Names.Kind)
	return nil
}

// ensure makes the CRD of the chosen program. One that belongs to a definition which exists no more changes hands.
func (c *Controller) ensure(ctx context.Context, p *pass) (crd.Result, error) {
	desired, err := crd.Dress(p.chosen.program.Instance.CRD, crd.Owner{Name: p.rgd.Name, UID: p.rgd.UID, Version: version.Label()})
	if err != nil {
		return crd.Result{}, err
	}
	options := crd.Options{AllowBreaking: p.rgd.Annotations[v1alpha1.AllowBreakingChangesAnnotation] == "true"}
	result, err := c.CRDs.Ensure(ctx, desired, options)
	var foreign *crd.OwnershipError
	if errors.As(err, &foreign) && foreign.Owner != "" {
		if options.Current, err = c.heirless(ctx, desired.Name, foreign); err != nil {
			return crd.Result{}, err
		}
		result, err = c.CRDs.Ensure(ctx, desired, options)
	}
	if err == nil && result.Action != crd.Unchanged {
		c.Log.Info("Wrote CRD", "name", p.rgd.Name, "crd", desired.Name, "action", result.Action, "adopted", result.Adopted, "restored", result.Restored)
	}
	return result, err
}

// heirless reads a CRD whose definition has gone, as one that belongs to nobody. It fails with the refusal when there is such a definition after all.
func (c *Controller) heirless(ctx context.Context, name string, refusal *crd.OwnershipError) (*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := c.CRDs.Get(ctx, name)
	if err != nil || found == nil {
		return nil, err
	}
	all := &v1alpha1.ResourceGraphDefinitionList{}
	if err := c.Client.List(ctx, all); err != nil {
		return nil, fmt.Errorf("looking for the owner of CRD %s: %w", name, err)
	}
	for i := range all.Items {
		if crd.BelongsTo(found, all.Items[i].Name) {
			return nil, refusal
		}
	}
	found = found.DeepCopy()
	delete(found.Labels, v1alpha1.DefinitionNameLabel)
	return found, nil
}

// kindIsReady says so for the document. An older one that goes on running says nothing new, but must not be hidden either.
func (p *pass) kindIsReady(kind string) {
	if p.isServed() || !p.Is(kindReady) {
		p.True(kindReady, reasonReady, fmt.Sprintf(messageKindReadyFormat, kind))
	}
}

// await leaves a CRD alone that the API server has not established yet. The catalog tells when it is; only when that takes long the status says why.
func (p *pass) await(found *apiextensionsv1.CustomResourceDefinition, now time.Time) {
	p.unserved = true
	if age := now.Sub(found.CreationTimestamp.Time); age < grace {
		p.hush, p.after = true, grace
		return
	}
	if refusal := crd.Refusal(found); refusal != "" {
		p.False(kindReady, reasonFailed, conditions.Short(refusal))
		return
	}
	p.Unknown(kindReady, reasonWaitEstablished, fmt.Sprintf("waiting for CRD %s to be established", found.Name))
}

// refused keeps the instances with what they have, as far as it belongs to this definition. A refusal stands until something changes, of which events
// tell; any other failure is tried again. So is a CRD that the server calls invalid: admission policies refuse with the same code, and no event tells
// when one is lifted.
func (c *Controller) refused(ctx context.Context, p *pass, name string, err error) error {
	p.False(kindReady, reasonFailed, conditions.Short(err.Error()))
	p.chosen, p.newest = p.memory.served, false
	if apierrors.IsInvalid(err) {
		p.failure = errors.Join(p.failure, err)
	}
	if !isRefusal(err) {
		p.unserved = true
		return err
	}
	found, getErr := c.CRDs.Get(ctx, name)
	if getErr != nil {
		p.unserved = true
		return getErr
	}
	if found == nil || !crd.BelongsTo(found, p.rgd.Name) {
		p.unserved = true
		if p.memory.served != nil { // it was ours, and has been given to another
			c.Instances.Withdraw(p.rgd.Name)
			p.memory.served, p.memory.published = nil, nil
		}
		return nil
	}
	if p.chosen == nil { // after a restart
		p.chosen = c.fitting(p, found)
	}
	if p.chosen == nil {
		p.without = err.Error()
	}
	return nil
}

// fitting finds the newest revision that compiles to the CRD as it stands in the cluster; nil when there is none.
func (c *Controller) fitting(p *pass, found *apiextensionsv1.CustomResourceDefinition) *offer {
	for contender := range c.compileAll(p) {
		if contender.program == nil {
			continue
		}
		if crd.Compare(found, contender.program.Instance.CRD).Empty() {
			return &contender.offer
		}
	}
	return nil
}

// crdName is the name of the CRD that a definition makes; empty when it has no schema.
func crdName(rgd *v1alpha1.ResourceGraphDefinition) string {
	s := rgd.Spec.Schema
	if s == nil || s.Kind == "" {
		return ""
	}
	plural, group := s.Plural, s.Group
	if plural == "" {
		plural = flect.Pluralize(strings.ToLower(s.Kind))
	}
	if group == "" {
		group = v1alpha1.Group
	}
	return plural + "." + group
}

// isRefusal tells refusals, which stand until somebody acts on the CRD or the definition, from failures that may pass.
func isRefusal(err error) bool {
	var foreign *crd.OwnershipError
	var breaking *crd.BreakingError
	var deleting *crd.DeletingError
	return errors.As(err, &foreign) || errors.As(err, &breaking) || errors.As(err, &deleting) || apierrors.IsInvalid(err)
}
