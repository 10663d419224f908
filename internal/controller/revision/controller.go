package revision

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/controller/definition"
	"kro.run/kro/internal/metrics"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/revision"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// The conditions of a revision and their reasons.
const (
	ready         = "Ready"
	graphVerified = "GraphVerified"

	reasonVerified      = "Verified"
	reasonInvalid       = "InvalidGraph"
	reasonSchemaUnknown = "SchemaUnavailable"
	messageVerified     = "graph revision compiled and verified"
)

var conditionTypes = conditions.Types{Root: ready, Dependents: []string{graphVerified}}

// Programs compiles specs; programs.Store does.
type Programs interface {
	Compile(programs.Key, *v1alpha1.ResourceGraphDefinitionSpec) programs.Result
	Known(programs.Key) bool
	Subscribe(func(programs.Change))
}

// Deps are what the controller works with.
type Deps struct {
	// Client reads revisions from the caches and writes them to the API server.
	Client   client.Client
	Programs Programs
	Log      logr.Logger
	// Clock is the real one when nil.
	Clock clock.PassiveClock
	// Workers is how many revisions are reconciled at the same time; 1 when 0.
	Workers int
}

// Controller reconciles GraphRevisions. Use New and Register.
type Controller struct {
	Deps
}

// New returns a controller that has not started.
func New(deps Deps) *Controller {
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	if deps.Workers < 1 {
		deps.Workers = 1
	}
	return &Controller{Deps: deps}
}

// Register adds the controller to a manager. Revisions do not change, so that only their arrival and their deletion matter, and news about their
// programs.
func (c *Controller) Register(mgr ctrl.Manager) error {
	leaves := func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("graphrevision").
		WithOptions(controller.Options{MaxConcurrentReconciles: c.Workers}).
		For(&internalv1alpha1.GraphRevision{}, builder.WithPredicates(predicate.Funcs{
			UpdateFunc: leaves,
			DeleteFunc: func(event.DeleteEvent) bool { return false },
		})).
		WatchesRawSource(source.Func(c.followPrograms)).
		Complete(c)
}

// followPrograms wakes the revisions of a definition when one of its programs is new or another one.
func (c *Controller) followPrograms(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.Programs.Subscribe(func(change programs.Change) {
		list := &internalv1alpha1.GraphRevisionList{}
		if err := c.Client.List(ctx, list, client.MatchingFields{definition.ByDefinition: change.Definition}); err != nil {
			c.Log.Error(err, "Could not list the graph revisions of a definition", "name", change.Definition)
			return
		}
		for i := range list.Items {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
		}
	})
	return nil
}

// Reconcile brings the status of one revision up to date.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	r := &internalv1alpha1.GraphRevision{}
	if err := c.Client.Get(ctx, request.NamespacedName, r); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.DeletionTimestamp != nil {
		return reconcile.Result{}, c.release(ctx, r)
	}
	if r.Spec.Graph != nil {
		return reconcile.Result{}, nil // Graphs look after theirs; only a finalizer that another release has put on is taken off here
	}
	if err := c.hold(ctx, r); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, c.verify(ctx, r)
}

// hold puts the finalizer on a revision that was created without: by another release, or by hand.
func (c *Controller) hold(ctx context.Context, r *internalv1alpha1.GraphRevision) error {
	before := r.DeepCopy()
	if !controllerutil.AddFinalizer(r, v1alpha1.Finalizer) {
		return nil
	}
	if err := c.Client.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adding finalizer %s: %w", v1alpha1.Finalizer, err)
	}
	return nil
}

// release lets a revision go.
func (c *Controller) release(ctx context.Context, r *internalv1alpha1.GraphRevision) error {
	before := r.DeepCopy()
	if !controllerutil.RemoveFinalizer(r, v1alpha1.Finalizer) {
		return nil
	}
	err := c.Client.Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing finalizer %s: %w", v1alpha1.Finalizer, err)
	}
	metrics.RevisionEvicted()
	return nil
}

// verify compiles the revision when its verdict is not known yet or may have changed, and writes the verdict when it is another one.
func (c *Controller) verify(ctx context.Context, r *internalv1alpha1.GraphRevision) error {
	before := r.DeepCopy()
	ledger := conditionTypes.Open(r.Status.Conditions, conditions.Of(r), c.Clock.Now())
	hash, err := revision.Hash(&r.Spec.Snapshot.Spec)
	if err != nil {
		ledger.False(graphVerified, reasonInvalid, "compute graph revision spec hash: "+err.Error())
		return c.write(ctx, before, r, ledger)
	}
	key := programs.Key{Definition: r.Spec.Snapshot.Name, Hash: hash}
	verdict, _ := ledger.Get(graphVerified)
	stands := verdict.Status != metav1.ConditionUnknown && verdict.ObservedGeneration == r.Generation
	if stands && !c.Programs.Known(key) {
		return nil
	}
	result := c.Programs.Compile(key, &r.Spec.Snapshot.Spec)
	switch {
	case result.Err != nil && stands:
	case result.Err != nil:
		ledger.Unknown(graphVerified, reasonSchemaUnknown, conditions.Short(result.Error()))
	case result.Valid():
		ledger.True(graphVerified, reasonVerified, messageVerified)
		r.Status.TopologicalOrder, r.Status.Resources = programs.Topology(result.Program, &r.Spec.Snapshot.Spec)
	default:
		ledger.False(graphVerified, reasonInvalid, conditions.Short(fmt.Sprintf("failed to compile graph revision %q: %s", r.Name, result.Error())))
		r.Status.TopologicalOrder, r.Status.Resources = nil, nil
	}
	if err := c.write(ctx, before, r, ledger); err != nil {
		return err
	}
	if result.Err != nil {
		return fmt.Errorf("checking the kinds that GraphRevision %s uses: %w", r.Name, result.Err)
	}
	return nil
}

func (c *Controller) write(ctx context.Context, before, r *internalv1alpha1.GraphRevision, ledger *conditions.Ledger) error {
	r.Status.Conditions = ledger.List()
	if equality.Semantic.DeepEqual(before.Status, r.Status) {
		return nil
	}
	err := c.Client.Status().Patch(ctx, r, client.MergeFrom(before))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		metrics.RevisionStatusFailed()
		return fmt.Errorf("writing the status of GraphRevision %s: %w", r.Name, err)
	}
	return nil
}
