package cli

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"kro.run/kro/api/v1alpha1"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// requiredKinds are the kinds of kro itself that the cluster must serve before the controller starts.
var requiredKinds = []struct {
	group kschema.GroupVersion
	kind  string
	crd   string
}{
	{v1alpha1.GroupVersion, "ResourceGraphDefinition", "resourcegraphdefinitions.kro.run"},
	{internalv1alpha1.GroupVersion, "GraphRevision", "graphrevisions.internal.kro.run"},
}

// requireCRDs fails with what to do when kro's own CRDs are not installed. Without this check the controller would wait for its caches and say
// nothing useful. It asks discovery, to which everybody has the right.
func requireCRDs(cfg *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making a discovery client: %w", err)
	}
	var missing []error
	for _, required := range requiredKinds {
		list, err := client.ServerResourcesForGroupVersion(required.group.String())
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("asking the API server for the kinds of %s: %w", required.group, err)
		}
		served := false
		if list != nil {
			for _, resource := range list.APIResources {
				served = served || resource.Kind == required.kind
			}
		}
		if !served {
			missing = append(missing, fmt.Errorf("CustomResourceDefinition %s is not installed", required.crd))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w\napply the CRDs of this release before the controller: `kubectl apply --server-side -f config/crd` or the crds of the Helm chart",
		errors.Join(missing...))
}
