package definition

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/internal/crd"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// Extensions is CRDs on an API server.
type Extensions struct {
	// CRDs reads and writes CRDs on the server, not in a cache.
	CRDs    apiextensionsclient.CustomResourceDefinitionInterface
	Dynamic dynamic.Interface
}

var _ CRDs = Extensions{}

// Ensure implements CRDs.
func (e Extensions) Ensure(ctx context.Context, desired *apiextensionsv1.CustomResourceDefinition, options crd.Options) (crd.Result, error) {
	return crd.Ensure(ctx, e.CRDs, desired, options)
}

// Get implements CRDs.
func (e Extensions) Get(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := e.CRDs.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading CRD %s: %w", name, err)
	}
	return found, nil
}

// Delete implements CRDs.
func (e Extensions) Delete(ctx context.Context, found *apiextensionsv1.CustomResourceDefinition) error {
	uid := found.UID
	return client.IgnoreNotFound(e.CRDs.Delete(ctx, found.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}))
}

// Instances implements CRDs. One object is read; the server tells how many more there are.
func (e Extensions) Instances(ctx context.Context, gvr kschema.GroupVersionResource) (int64, error) {
	list, err := e.Dynamic.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := int64(len(list.Items))
	if more := list.GetRemainingItemCount(); more != nil {
		n += *more
	}
	return n, nil
}

// IndexRevisions lets the cache find the revisions of a definition. It must be called before the manager starts.
func IndexRevisions(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &internalv1alpha1.GraphRevision{}, ByDefinition, func(o client.Object) []string {
		revision, ok := o.(*internalv1alpha1.GraphRevision)
		if !ok {
			return nil
		}
		return []string{revision.Spec.Snapshot.Name}
	})
	if err != nil {
		return fmt.Errorf("indexing GraphRevisions by %s: %w", ByDefinition, err)
	}
	return nil
}
