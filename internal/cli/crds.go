package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
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

// Whoever installs everything at once starts the controller some moments before the API server serves the new CRDs.
const (
	patience = 10 * time.Second
	interval = 250 * time.Millisecond
)

// requireCRDs waits for kro's own CRDs and fails with what to do when they do not come. Without this check the controller would wait for its caches
// and say nothing useful.
func requireCRDs(ctx context.Context, cfg *rest.Config, log logr.Logger) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making a discovery client: %w", err)
	}
	var missing error
	err = wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		told := missing != nil
		if missing, err = missingCRDs(client); err != nil || missing == nil {
			return err == nil, err
		}
		if !told {
			log.Info("Waiting for kro's CRDs", "cause", missing.Error(), "patience", patience.String())
		}
		return false, nil
	})
	if missing == nil {
		return err
	}
	return fmt.Errorf("%w\napply the CRDs of this release before the controller: `kubectl apply --server-side -f config/crd` or the crds of the Helm chart", missing)
}

// missingCRDs tells which of kro's CRDs are not served. It asks discovery, to which everybody has the right.
func missingCRDs(client discovery.ServerResourcesInterface) (missing, err error) {
	for _, required := range requiredKinds {
		list, err := client.ServerResourcesForGroupVersion(required.group.String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("asking the API server for the kinds of %s: %w", required.group, err)
		}
		served := list != nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == required.kind })
		if !served {
			missing = errors.Join(missing, fmt.Errorf("CustomResourceDefinition %s is not installed", required.crd))
		}
	}
	return missing, nil
}
