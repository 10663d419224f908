package instance

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/version"
)

// pass is one reconcile of one instance.
type pass struct {
	*Controller
	key      key
	kind     kind // as it was when the reconcile began
	state    *state
	instance *unstructured.Unstructured
	report   *report
	stores   *stores
}

// reconcile brings one instance to where its definition wants it, as far as that goes now.
func (c *Controller) reconcile(ctx context.Context, k key) (again, error) {
	c.mu.Lock()
	served := c.kinds[k.GVR]
	if served == nil || !served.settled {
		c.mu.Unlock()
		return again{}, nil
	}
	snapshot := *served
	c.mu.Unlock()

	// A name that is not there: it has been deleted, and our work on it is done.
	instance, found := snapshot.store.Get(k.Namespace, k.Name)
	if !found {
		c.forget(k)
		metrics.ForgetInstance(k.GVR, k.Namespace, k.Name)
		return again{}, nil
	}
	p := &pass{
		Controller: c, key: k, kind: snapshot, instance: instance,
		state: c.stateOf(k, instance), report: openReport(instance, c.Clock.Now()),
	}
	p.stores = &stores{pass: p}

	// Deletion needs neither the definition nor CEL, so that nothing can block it but what is really there.
	if instance.GetDeletionTimestamp() != nil {
		return p.teardown(ctx)
	}

	program := snapshot.definition.Program
	if program == nil {
		metrics.GraphUnresolved(k.GVR, metrics.GraphFailed)
		p.report.False(graphResolved, "ResolutionFailed", snapshot.definition.Reason)
		return again{}, p.writeStatus(ctx, engine.StateError, nil)
	}
	metrics.GraphResolved(k.GVR)

	// An inventory that cannot be relied on is a reason to stop, unless we wrote it: it may name children of before.
	if err := p.checkInventory(); err != nil {
		p.report.False(instanceManaged, "ManagementFailed", "finalizer/labeling failed: "+err.Error())
		return again{}, p.writeStatus(ctx, engine.StateError, nil)
	}
	if p.suspended() {
		return p.suspend(ctx)
	}
	if waiting, err := p.awaitCaches(program); waiting || err != nil {
		return again{}, err
	}
	// A graph that rewrites its own input waits for its next turn.
	if wait := p.state.brake.Held(c.Clock.Now(), instance.GetGeneration(), snapshot.definition.Revision); wait > 0 {
		return again{after: wait}, nil
	}
	return p.converge(ctx, program)
}

// suspended reads the annotation by which a person stops reconciliation.
func (p *pass) suspended() bool {
	switch strings.ToLower(p.instance.GetAnnotations()[v1alpha1.ReconcileAnnotation]) {
	case "suspended", "disabled":
		return true
	}
	return false
}

// suspend leaves everything as it is, but for the finalizer of an instance that has none: its deletion must be noticed.
func (p *pass) suspend(ctx context.Context) (again, error) {
	if !slices.Contains(p.instance.GetFinalizers(), v1alpha1.Finalizer) {
		if err := p.manage(ctx, p.inventory(), readContributions(p.instance)); err != nil {
			return p.unmanaged(ctx, err)
		}
	}
	p.report.True(instanceManaged, "Managed", managedMessage)
	p.report.True(graphResolved, "Resolved", resolvedMessage)
	p.report.False(resourcesReady, "ReconciliationSuspended", "reconciliation suspended via kro.run/reconcile annotation")
	return again{}, p.writeStatus(ctx, engine.StateInProgress, nil)
}

// unmanaged tells that finalizer, labels or inventory could not be written.
func (p *pass) unmanaged(ctx context.Context, err error) (again, error) {
	p.report.False(instanceManaged, "ManagementFailed", "finalizer/labeling failed: "+err.Error())
	if statusErr := p.writeStatus(ctx, engine.StateError, nil); statusErr != nil {
		return again{}, errors.Join(err, statusErr)
	}
	return again{failed: true}, nil
}

// converge applies what the program wants, prunes what it no longer wants, and tells how it went.
func (p *pass) converge(ctx context.Context, program *graph.Program) (again, error) {
	ctx, measured := p.measure(ctx)
	defer measured.ended()
	work := engine.Begin(program, p.instance.Object, engine.Options{
		MaxCollectionSize: p.Options.MaxCollectionSize, Previous: p.previous, Meter: measured.meter(),
	})
	measured.prepared()
	request := executor.Request{
		Pass: work, Owner: p.owner(), Stores: p.stores, Trusted: p.trusted(),
		Cover: func(ctx context.Context, reach executor.Reach) error { return p.cover(ctx, work, reach) },
	}
	done, err := p.executor.Run(ctx, request)
	if err != nil {
		return p.unmanaged(ctx, err)
	}
	outcome := work.Outcome()
	p.watchContested(done.Contested)
	p.state.brake.Note(p.Clock.Now(), done.Sent)

	retiring, pruneErr := p.prune(ctx, outcome, done)
	contributions, releaseErr := p.releaseUnwanted(ctx, outcome)
	pruneErr = errors.Join(pruneErr, releaseErr)
	outcome.Prunable = outcome.Prunable && pruneErr == nil
	if err := p.manage(ctx, p.wanted(outcome, retiring), contributions); err != nil {
		return p.unmanaged(ctx, err)
	}
	p.report.True(instanceManaged, "Managed", managedMessage)
	p.report.True(graphResolved, "Resolved", resolvedMessage)
	p.tell(outcome, pruneErr)
	if pruneErr != nil {
		outcome.State = engine.StateError
	}
	if err := p.writeStatus(ctx, outcome.State, &result{pass: work, outcome: outcome, hashes: done.Hashes}); err != nil {
		return again{}, err
	}
	if !outcome.Failed {
		p.stores.commit()
	}
	next := again{failed: outcome.Failed || pruneErr != nil}
	if p.state.brake.Driver != "" {
		next.after = executor.RewriteWindow // to see whether it has calmed down
	}
	return next, nil
}

// tell turns the outcome of a pass into the condition ResourcesReady.
func (p *pass) tell(outcome engine.Outcome, pruneErr error) {
	switch {
	case outcome.Deleting:
		p.report.False(resourcesReady, "ResourceDeleting", outcome.Message)
	case outcome.Message != "":
		p.report.False(resourcesReady, "NotReady", outcome.Message)
	case p.state.brake.Driver != "":
		p.report.False(resourcesReady, "Thrashing", "reconciliation is slowed down: "+p.state.brake.Driver)
	case pruneErr != nil:
		p.report.False(resourcesReady, "NotReady", "resource reconciliation failed: prune failed: "+pruneErr.Error())
	default:
		p.report.True(resourcesReady, "AllResourcesReady", "all resources are created and ready")
	}
}

// prune deletes the objects of the instance that the graph no longer wants, wave by wave. It only does so when every
// node is resolved and applied: otherwise an object might be wanted after all. It returns what is still on its way out.
func (p *pass) prune(ctx context.Context, outcome engine.Outcome, done executor.Report) ([]executor.Member, error) {
	if err := p.executor.Settle(ctx, nil, string(p.state.uid), p.stores); err != nil {
		return nil, err
	}
	resources, err := p.resources(p.inventory().GroupKinds)
	if err != nil {
		return nil, err
	}
	members, err := p.prunable(ctx, resources, p.owner().SetID, outcome)
	if err != nil {
		return nil, err
	}
	var orphans []executor.Member
	for _, m := range members {
		if !done.Applied[m.Object.GetUID()] {
			orphans = append(orphans, m)
		}
	}
	if !outcome.Prunable || len(orphans) == 0 {
		return orphans, nil
	}
	known := map[string]bool{}
	for _, n := range outcome.Nodes {
		known[n.Node.ID] = true
	}
	_, err = p.executor.Retire(ctx, string(p.state.uid), orphans, func(node string) bool { return known[node] })
	return orphans, err
}

// resources maps kinds to resources; kinds that are gone have no objects.
func (p *pass) resources(kinds []kschema.GroupKind) ([]kschema.GroupVersionResource, error) {
	known := map[kschema.GroupKind]kschema.GroupVersionResource{}
	if program := p.kind.definition.Program; program != nil {
		for _, n := range program.Nodes {
			if n.Kind == graph.Template {
				known[n.GVK.GroupKind()] = n.Resource
			}
		}
	}
	var out []kschema.GroupVersionResource
	for _, gk := range kinds {
		if gvr, ok := known[gk]; ok {
			out = append(out, gvr)
			continue
		}
		gvr, _, err := p.Kinds.Mapping(gk)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, gvr)
	}
	return out, nil
}

func (p *pass) owner() executor.Instance {
	return executor.Instance{
		GVK: p.kind.gvk, Namespace: p.instance.GetNamespace(), Name: p.instance.GetName(), UID: p.instance.GetUID(),
		SetID:   apply.SetID(p.instance.GetName(), p.instance.GetNamespace(), p.kind.gvk.Kind, p.kind.gvk.Group),
		Version: version.Label(),
		Adopt:   !p.Options.NeverAdopt && p.kind.definition.Adopt != "false",
	}
}
