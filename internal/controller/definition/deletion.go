package definition

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/crd"
	"kro.run/kro/internal/metrics"
)

const (
	// tellEvery is how often at most the number of remaining instances is written: ten thousand that are deleted at once must not mean ten thousand writes.
	tellEvery = time.Second
	// lookAgain is how often remaining instances are counted where nobody watches them, because no revision works.
	lookAgain = 30 * time.Second
)

// told is what was last written about remaining instances.
type told struct {
	at   time.Time
	text string
}

// leave ends a definition that is being deleted. While instances are left it stays and goes on serving them: they carry kro's finalizer, and without a
// controller nobody could delete them. A definition that has no CRD of its own has no instances either, and goes at once.
func (c *Controller) leave(ctx context.Context, p *pass) error {
	if !controllerutil.ContainsFinalizer(p.rgd, v1alpha1.Finalizer) {
		return nil
	}
	c.notes.leave(p.rgd.Name)
	err := c.dismantle(ctx, p)
	if err != nil && !apierrors.IsConflict(err) {
		// Whoever waits for the definition to go sees why it does not. That this cannot be written either changes nothing.
		_ = c.tell(ctx, p, err.Error())
	}
	return err
}

func (c *Controller) dismantle(ctx context.Context, p *pass) error {
	own, err := c.ownCRD(ctx, p.rgd)
	if err != nil {
		return err
	}
	if own == nil {
		return c.release(ctx, p)
	}
	remaining, err := c.remaining(ctx, p, own)
	if err != nil {
		return err
	}
	if remaining > 0 {
		return c.wait(ctx, p, own, remaining)
	}
	if !c.Options.AllowCRDDeletion {
		c.Log.Info("skipping CRD deletion because allowCRDDeletion is disabled", "name", p.rgd.Name, "crd", own.Name)
		return c.release(ctx, p)
	}
	if own.DeletionTimestamp == nil {
		if err := c.CRDs.Delete(ctx, own); err != nil {
			return fmt.Errorf("deleting CRD %s: %w", own.Name, err)
		}
		c.Log.Info("Deleted CRD", "name", p.rgd.Name, "crd", own.Name)
	}
	// An instance may have come in the meantime. It is served until the CRD has really gone, of which the catalog tells.
	if own, err = c.ownCRD(ctx, p.rgd); err != nil || own == nil {
		if err != nil {
			return err
		}
		return c.release(ctx, p)
	}
	return c.tell(ctx, p, fmt.Sprintf("waiting for CRD %s to be deleted", own.Name))
}

// ownCRD reads the CRD of a definition; nil when there is none that belongs to it.
func (c *Controller) ownCRD(ctx context.Context, rgd *v1alpha1.ResourceGraphDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	name := crdName(rgd)
	if name == "" {
		return nil, nil
	}
	c.notes.claim(rgd.Name, name)
	found, err := c.CRDs.Get(ctx, name)
	if err != nil || found == nil {
		return nil, err
	}
	if !crd.BelongsTo(found, rgd.Name) {
		return nil, nil
	}
	return found, nil
}

// remaining counts the instances. What the caches say is good for telling people; that there are none is asked of the server.
func (c *Controller) remaining(ctx context.Context, p *pass, own *apiextensionsv1.CustomResourceDefinition) (int64, error) {
	if n, synced := c.Instances.Instances(p.rgd.Name); synced && n > 0 {
		return int64(n), nil
	}
	gvr := kschema.GroupVersionResource{Group: own.Spec.Group, Resource: own.Spec.Names.Plural}
	for _, version := range own.Spec.Versions {
		if version.Served {
			gvr.Version = version.Name
			break
		}
	}
	n, err := c.CRDs.Instances(ctx, gvr)
	if err != nil {
		return 0, fmt.Errorf("counting the instances of %s: %w", own.Name, err)
	}
	return n, nil
}

// wait says how many instances are left, and serves them.
func (c *Controller) wait(ctx context.Context, p *pass, own *apiextensionsv1.CustomResourceDefinition, remaining int64) error {
	if p.memory.served == nil { // after a restart
		if err := c.serveFrom(ctx, p, own); err != nil {
			c.Log.Error(err, "Could not serve the instances of a definition that is being deleted", "name", p.rgd.Name)
		}
		if p.memory.served == nil {
			p.after = lookAgain
		}
	}
	noun := "instances"
	if remaining == 1 {
		noun = "instance"
	}
	return c.tell(ctx, p, fmt.Sprintf("%d %s of %s left; the definition goes on serving until they are deleted", remaining, noun, own.Spec.Names.Kind))
}

// serveFrom finds the program that fits the CRD as it stands, which is not touched any more, and serves it.
func (c *Controller) serveFrom(ctx context.Context, p *pass, own *apiextensionsv1.CustomResourceDefinition) error {
	if err := c.gather(ctx, p); err != nil {
		return err
	}
	if p.chosen = c.fitting(p, own); p.chosen == nil {
		p.pick(c.compileAll(p))
	}
	return c.serve(ctx, p)
}

// tell writes why the definition is still there: in Ready itself, for its parts go on working. It does so at most once in tellEvery.
func (c *Controller) tell(ctx context.Context, p *pass, text string) error {
	if since := c.now().Sub(p.memory.told.at); p.memory.told.text != text && since < tellEvery {
		p.after = tellEvery - since
		return nil
	}
	p.False(ready, reasonDeletionBlocked, text)
	p.memory.told = told{at: c.now(), text: text}
	p.rgd.Status.Conditions = p.List()
	return c.write(ctx, p)
}

// release lets the definition go.
func (c *Controller) release(ctx context.Context, p *pass) error {
	if p.memory.served != nil {
		c.Instances.Withdraw(p.rgd.Name)
		p.memory.served = nil
	}
	before := p.rgd.DeepCopy()
	controllerutil.RemoveFinalizer(p.rgd, v1alpha1.Finalizer)
	err := c.Client.Patch(ctx, p.rgd, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing finalizer %s: %w", v1alpha1.Finalizer, err)
	}
	metrics.DefinitionDeleted(p.rgd.Name, c.now().Sub(p.rgd.DeletionTimestamp.Time))
	c.forget(p.rgd.Name)
	return nil
}
