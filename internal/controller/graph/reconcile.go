package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/graph"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/executor"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/watch"
)

// pass is one reconcile of one Graph.
type pass struct {
	*Controller
	key    types.NamespacedName
	state  *state
	object *unstructured.Unstructured
	status v1alpha1.GraphStatus
	report *conditions.Ledger
	stores *stores
	// user is whom the Graph acts as, client what it reads and writes through.
	user   string
	client dynamic.Interface
	// revision is that of the spec; nil when it could not be written. unkept says why something of the history could not be.
	revision *internalv1alpha1.GraphRevision
	unkept   error
}

// reconcile brings one Graph to where its nodes want it, as far as that goes now.
func (c *Controller) reconcile(ctx context.Context, k types.NamespacedName) (again, error) {
	object, found := c.store.Get(k.Namespace, k.Name)
	if !found {
		return again{}, c.gone(ctx, k)
	}
	p := &pass{Controller: c, key: k, object: object, state: c.stateOf(k, object)}
	if err := decode(object.Object["status"], &p.status); err != nil {
		return again{}, fmt.Errorf("reading the status: %w", err)
	}
	p.report = conditionTypes.Open(p.status.Conditions, conditions.Of(object), c.Clock.Now())
	p.stores = &stores{pass: p, ctx: ctx, used: map[watch.Source]bool{}}

	// Deletion needs neither nodes nor CEL, so that nothing can block it but what is really there.
	if object.GetDeletionTimestamp() != nil {
		return p.teardown(ctx)
	}
	next, err := p.serve(ctx)
	if p.unkept != nil && err == nil {
		c.Log.Error(p.unkept, "Could not keep a revision", "namespace", k.Namespace, "name", k.Name)
		next.failed = true
	}
	return next, err
}

// serve brings a Graph that is to stay to what its spec says.
func (p *pass) serve(ctx context.Context) (again, error) {
	var spec v1alpha1.GraphSpec
	if err := decode(p.object.Object["spec"], &spec); err != nil {
		return again{}, p.reject(ctx, "reading the spec: "+err.Error())
	}
	p.number(ctx, &spec)
	if p.user = userOf(p.key.Namespace, &spec); p.user == p.Options.Self {
		return again{}, p.reject(ctx, fmt.Sprintf("serviceAccountName: a Graph must not act as %s, the account of kro's controller itself; name another ServiceAccount", p.user))
	}
	program, valid, err := p.compile(ctx, &spec)
	if !valid || err != nil {
		return again{}, err
	}
	if p.suspended() {
		p.report.False(resourcesConverged, "ReconciliationSuspended", "reconciliation suspended via kro.run/reconcile annotation")
		return again{}, p.writeStatus(ctx, p.status)
	}
	if p.client, err = p.clients.of(p.user); err != nil {
		return again{}, err
	}
	if err := p.hold(ctx); err != nil {
		return again{}, err
	}
	if p.awaitCaches(program) {
		return again{}, nil
	}
	// A graph that rewrites its own input waits for its next turn.
	if wait := p.state.brake.Held(p.Clock.Now(), p.object.GetGeneration(), 0); wait > 0 {
		return again{after: wait}, nil
	}
	return p.converge(ctx, program)
}

// decode reads a part of an object into its Go type.
func decode(from any, into any) error {
	if from == nil {
		return nil
	}
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// reject tells that the Graph is not valid. What it has made stays.
func (p *pass) reject(ctx context.Context, why string) error {
	p.judge(ctx, why)
	p.report.False(accepted, "InvalidGraph", conditions.Short(why))
	return p.writeStatus(ctx, p.status)
}

// compile gives the program of the Graph, and tells in the condition Accepted when there is none.
func (p *pass) compile(ctx context.Context, spec *v1alpha1.GraphSpec) (program *graph.Program, valid bool, err error) {
	content, _ := p.object.Object["spec"].(map[string]any)
	hash := apply.ContentHash(map[string]any{"nodes": content["nodes"]})
	result := p.Programs.CompileSource(programs.Key{Definition: p.key.String(), Hash: hash}, func() graph.Source {
		return graph.FromGraph(p.key.Name, p.key.Namespace, spec)
	})
	if p.state.compiled != hash { // looking through all programs is not free
		p.Programs.Retain(p.key.String(), hash)
		p.state.compiled = hash
	}
	if result.Err != nil {
		return nil, false, fmt.Errorf("compiling: %w", result.Err)
	}
	if !result.Valid() {
		return nil, false, p.reject(ctx, result.Error())
	}
	p.judge(ctx, "")
	noun := "nodes"
	if len(result.Program.Nodes) == 1 {
		noun = "node"
	}
	p.report.True(accepted, "Compiled", fmt.Sprintf("%d %s compiled", len(result.Program.Nodes), noun))
	return result.Program, true, nil
}

// suspended reads the annotation by which a person stops reconciliation.
func (p *pass) suspended() bool {
	switch strings.ToLower(p.object.GetAnnotations()[v1alpha1.ReconcileAnnotation]) {
	case "suspended", "disabled":
		return true
	}
	return false
}

// awaitCaches tells whether the pass has to wait for caches that are being read, and has the Graph woken when they are. A cache that cannot be read is not
// waited for: without it a few requests more are sent, no fewer.
func (p *pass) awaitCaches(program *graph.Program) bool {
	for _, n := range program.Nodes {
		if n.Kind != graph.Template || n.Dynamic {
			continue
		}
		store := p.stores.Members(n.Resource)
		if !store.Synced() && store.Err() == nil {
			p.wakeWhen(store.Done())
			return true
		}
	}
	return false
}

// unwatchedAfter is when a Graph is looked at again that reads what its account may not watch.
const unwatchedAfter = 30 * time.Second

// converge applies what the nodes want, prunes and releases what they no longer want, and tells how it went.
func (p *pass) converge(ctx context.Context, program *graph.Program) (again, error) {
	work := engine.Begin(program, p.object.Object, engine.Options{
		Gate: engine.GateScope, MaxCollectionSize: p.Options.MaxCollectionSize, Namespace: p.key.Namespace,
		Resolve: p.resolve, Previous: p.previous,
	})
	done, err := p.executor.Run(ctx, executor.Request{
		Pass: work, Owner: p.owner(), Stores: p.stores, Trusted: p.trusted(), Cover: p.cover, Server: executor.Live{Client: p.client},
	})
	if err != nil {
		p.report.False(resourcesConverged, "ApplyFailed", conditions.Short(err.Error()))
		return again{failed: true}, p.writeStatus(ctx, p.status)
	}
	outcome := work.Outcome()
	p.watchContested(done.Contested)
	p.state.brake.Note(p.Clock.Now(), done.Sent)
	p.await(p.key, outcome.Missing)

	status := p.status
	status.AppliedServiceAccount = p.user
	status.Nodes = nodeStatuses(outcome, done.Hashes)
	// Only what a whole pass does not want may go.
	wanted := p.wanted(program, outcome)
	next, pruneErr := p.prune(ctx, outcome, wanted, &status)
	releaseErr := p.releaseUnwanted(ctx, outcome, &status)
	if outcome.Prunable && !outcome.Failed && p.revision != nil {
		status.AppliedRevision = p.revision.Spec.Revision
	}
	p.tell(outcome, pruneErr, releaseErr)
	if err := p.writeStatus(ctx, status); err != nil {
		return again{}, err
	}
	if !outcome.Failed {
		p.stores.commit()
	}
	if p.state.brake.Driver != "" {
		next.after = executor.RewriteWindow // to see whether it has calmed down
	}
	if p.stores.unwatched && next.after == 0 {
		next.after = unwatchedAfter
	}
	next.failed = next.failed || outcome.Failed || p.stores.unread || pruneErr != nil || releaseErr != nil
	return next, nil
}

// resolve finds the resource of a kind that an expression gave.
func (p *pass) resolve(gvk kschema.GroupVersionKind) (kschema.GroupVersionResource, bool, error) {
	kind, err := p.Kinds.Resolve(gvk)
	if err != nil {
		return kschema.GroupVersionResource{}, false, err
	}
	return gvk.GroupVersion().WithResource(kind.Resource), kind.Namespaced, nil
}

// previous gives the objects of a node as they stand in the caches, for deferred fields.
func (p *pass) previous(node *graph.Node) []map[string]any {
	if node.Kind != graph.Template || node.Dynamic {
		return nil
	}
	var out []map[string]any
	for _, object := range p.stores.Members(node.Resource).ByIndex(watch.IndexInstanceID, string(p.state.uid)) {
		if executor.NodeOf(object) == node.Path {
			out = append(out, object.Object)
		}
	}
	return out
}

func (p *pass) owner() owner {
	return owner{namespace: p.key.Namespace, name: p.key.Name, uid: p.state.uid, adopt: !p.Options.NeverAdopt}
}

// tell turns the outcome of a pass into the condition ResourcesConverged. What is hard stands before what passes by itself.
func (p *pass) tell(outcome engine.Outcome, pruneErr, releaseErr error) {
	message := conditions.Short(outcome.Message)
	switch reason := reasonOf(outcome); {
	case reason == applyFailed:
		p.report.False(resourcesConverged, reason, message)
	case pruneErr != nil:
		p.report.False(resourcesConverged, "PruneFailed", conditions.Short(pruneErr.Error()))
	case releaseErr != nil:
		p.report.False(resourcesConverged, "ReleaseFailed", conditions.Short(releaseErr.Error()))
	case reason != "":
		p.report.False(resourcesConverged, reason, message)
	case p.state.brake.Driver != "":
		p.report.False(resourcesConverged, "Thrashing", "reconciliation is slowed down: "+p.state.brake.Driver)
	default:
		p.report.True(resourcesConverged, "Applied", "everything is applied and ready")
	}
}

const applyFailed = "ApplyFailed"

// reasonOf is why a pass is not converged; empty when it is.
func reasonOf(outcome engine.Outcome) string {
	found := map[string]bool{}
	for _, n := range outcome.Nodes {
		for _, err := range n.Errs {
			found[reasonOfError(err)] = true
		}
		switch {
		case n.Phase == engine.Waiting || n.Phase == engine.Running:
			found["DataPending"] = true
		case n.Phase == engine.Observed && !n.Ready:
			found["WaitingForReadiness"] = true
		}
	}
	reasons := []string{applyFailed, "FieldManagerConflict", "DataPending", "WaitingForReadiness"}
	if at := slices.IndexFunc(reasons, func(r string) bool { return found[r] }); at >= 0 {
		return reasons[at]
	}
	return ""
}

func reasonOfError(err error) string {
	var foreign *executor.ForeignError
	var held *executor.ManagerConflictError
	if errors.As(err, &foreign) || errors.As(err, &held) {
		return "FieldManagerConflict"
	}
	return applyFailed
}
