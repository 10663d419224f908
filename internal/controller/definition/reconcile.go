package definition

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/programs"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// pass is one reconcile of one definition.
type pass struct {
	// rgd is the definition; the steps change its status. stored is what the server has.
	rgd, stored *v1alpha1.ResourceGraphDefinition
	memory      *memory
	*conditions.Ledger

	lineage lineage
	// hashes of the revisions, by UID.
	hashes map[types.UID]string
	// hash of the document's spec, and what became of compiling it.
	hash     string
	document programs.Result
	// revision is that of the document; nil when it has none, because it does not compile or must wait.
	revision *internalv1alpha1.GraphRevision
	// chosen is what the instances are to run; nil when nothing works. newest says that it is the newest revision, so that the CRD must be its.
	chosen *offer
	newest bool
	// without says why nothing works.
	without string

	// unserved leaves the instances with what they have, because the CRD is not there yet.
	unserved bool
	// failure has the pass tried again once it is complete.
	failure error

	// after asks for another pass, for want of an event. hush leaves the status unwritten until then.
	after time.Duration
	hush  bool
}

// step is one step of a pass. An error ends the pass; what has been found out until then is written, and the pass is tried again.
type step func(context.Context, *pass) error

// Reconcile brings one definition to what it says.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	rgd, err := c.read(ctx, request.Name)
	if apierrors.IsNotFound(err) {
		c.forget(request.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading ResourceGraphDefinition %s: %w", request.Name, err)
	}
	p := c.open(rgd)
	steps := []step{c.hold, c.gather, c.check, c.number, c.choose, c.publish, c.serve, c.conclude, c.write, c.retire}
	if rgd.DeletionTimestamp != nil {
		steps = []step{c.leave}
	}
	for _, do := range steps {
		if err := do(ctx, p); err != nil {
			return reconcile.Result{}, errors.Join(err, c.salvage(ctx, p))
		}
	}
	if p.document.Err != nil {
		return reconcile.Result{}, fmt.Errorf("checking the kinds that %s uses: %w", rgd.Name, p.document.Err)
	}
	return reconcile.Result{RequeueAfter: p.after}, p.failure
}

// read gets a definition from the cache, or what the last own write returned while the cache has not caught up with that.
func (c *Controller) read(ctx context.Context, name string) (*v1alpha1.ResourceGraphDefinition, error) {
	rgd := &v1alpha1.ResourceGraphDefinition{}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, rgd); err != nil {
		return nil, err
	}
	m := c.memory(name)
	if own := m.object; own != nil && own.UID == rgd.UID && newer(own.ResourceVersion, rgd.ResourceVersion) {
		return own.DeepCopy(), nil
	}
	m.object = nil
	return rgd, nil
}

// open begins a pass. A definition that was deleted and made again before anybody looked is another one, perhaps of another kind.
func (c *Controller) open(rgd *v1alpha1.ResourceGraphDefinition) *pass {
	if served := c.memory(rgd.Name).served; served != nil && served.uid != rgd.UID {
		c.forget(rgd.Name)
	}
	return &pass{
		rgd:    rgd,
		stored: rgd.DeepCopy(),
		memory: c.memory(rgd.Name),
		hashes: map[types.UID]string{},
		Ledger: conditionTypes.Open(rgd.Status.Conditions, conditions.Of(rgd), c.now()),
	}
}

// hold puts the finalizer on the definition before anything is made for it.
func (c *Controller) hold(ctx context.Context, p *pass) error {
	if !controllerutil.AddFinalizer(p.rgd, v1alpha1.Finalizer) {
		return nil
	}
	status := p.rgd.Status
	if err := c.Client.Patch(ctx, p.rgd, client.MergeFromWithOptions(p.stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adding finalizer %s: %w", v1alpha1.Finalizer, err)
	}
	p.rgd.Status = status
	c.remember(p)
	return nil
}

// remember keeps what the server answered to a write.
func (c *Controller) remember(p *pass) {
	p.stored = p.rgd.DeepCopy()
	p.memory.object = p.stored
}

// salvage writes what a failed pass has found out. A pass that fails for a conflict has found out nothing that will not be found again.
func (c *Controller) salvage(ctx context.Context, p *pass) error {
	if p.rgd.DeletionTimestamp != nil {
		return nil
	}
	if err := c.conclude(ctx, p); err != nil {
		return err
	}
	if err := c.write(ctx, p); err != nil && !apierrors.IsConflict(err) {
		return err
	}
	return nil
}
