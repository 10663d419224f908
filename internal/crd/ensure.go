package crd

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/api/v1alpha1"
)

// attempts bounds how often Ensure starts over because the CRD changed under it.
const attempts = 3

// Client reads and writes CRDs. The CustomResourceDefinitions() of an apiextensions clientset is one.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error)
	Create(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, options metav1.CreateOptions) (*apiextensionsv1.CustomResourceDefinition, error)
	Update(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, options metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error)
}

// Options tell Ensure what it may do.
type Options struct {
	// AllowBreaking writes changes that may make stored instances invalid or cost them fields.
	AllowBreaking bool
	// Current is the CRD as a cache has it, whole and not changed by anyone; Ensure then does not read it. When it turns out to be out of date, Ensure reads after all.
	Current *apiextensionsv1.CustomResourceDefinition
}

// Action is what Ensure did.
type Action string

const (
	// Unchanged: the CRD was as desired; nothing was written.
	Unchanged Action = "Unchanged"
	// Created: there was no CRD.
	Created Action = "Created"
	// Updated: the CRD differed and was written.
	Updated Action = "Updated"
)

// Result is what Ensure did and found.
type Result struct {
	// CRD is the CRD as the server has it now. It may come from Options.Current, so it must not be changed.
	CRD *apiextensionsv1.CustomResourceDefinition
	// Action is what was done.
	Action Action
	// Changes are the differences in the API that were written.
	Changes Report
	// Adopted tells that the CRD came from a definition of the same name that had been deleted.
	Adopted bool
	// Restored tells that the CRD had been edited by hand and was put back.
	Restored bool
}

// Ensure makes the CRD of the cluster be as desired, which is a CRD that Dress gave.
//
// It costs one read, or none with Options.Current, and one write when something differs. It does not wait until the CRD is served: see Established.
//
// Errors: *OwnershipError, *BreakingError and *DeletingError say that trying again changes nothing until somebody acts on the CRD or the definition; all others are
// those of the API server, wrapped.
func Ensure(ctx context.Context, client Client, desired *apiextensionsv1.CustomResourceDefinition, options Options) (Result, error) {
	current := options.Current
	for attempt := 1; ; attempt++ {
		result, err := ensureOnce(ctx, client, current, desired, options.AllowBreaking)
		outdated := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || (current != nil && apierrors.IsNotFound(err))
		if !outdated || attempt == attempts {
			return result, err
		}
		current = nil
	}
}

func ensureOnce(ctx context.Context, client Client, current, desired *apiextensionsv1.CustomResourceDefinition, allowBreaking bool) (Result, error) {
	if current == nil {
		var err error
		current, err = client.Get(ctx, desired.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return create(ctx, client, desired)
		}
		if err != nil {
			return Result{}, fmt.Errorf("failed to check for existing CRD: %w", err)
		}
	}
	next, result, err := Plan(current, desired, allowBreaking)
	if err != nil || result.Action == Unchanged {
		return result, err
	}
	if result.CRD, err = client.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return Result{}, fmt.Errorf("failed to patch CRD: %w", err)
	}
	return result, nil
}

func create(ctx context.Context, client Client, desired *apiextensionsv1.CustomResourceDefinition) (Result, error) {
	created, err := client.Create(ctx, desired, metav1.CreateOptions{})
	if err != nil {
		return Result{}, fmt.Errorf("failed to create CRD: %w", err)
	}
	return Result{CRD: created, Action: Created}, nil
}

// Plan decides, without writing, what becomes of a CRD of the cluster when another is desired: the object to write, or none when the action is Unchanged.
func Plan(current, desired *apiextensionsv1.CustomResourceDefinition, allowBreaking bool) (*apiextensionsv1.CustomResourceDefinition, Result, error) {
	if err := checkOwner(current, desired); err != nil {
		return nil, Result{}, err
	}
	if !current.DeletionTimestamp.IsZero() {
		return nil, Result{}, &DeletingError{Name: current.Name}
	}
	known, asked := recordOf(current), recordOf(desired)
	result := Result{CRD: current, Action: Unchanged, Changes: Compare(current, desired)}
	result.Restored = !result.Changes.Empty() && known.Spec == asked.Spec
	result.Adopted = current.Labels[v1alpha1.DefinitionIDLabel] != desired.Labels[v1alpha1.DefinitionIDLabel]
	// What was edited by hand is put back whether or not the way back is a breaking one: the instances were stored under the schema that it goes back to.
	if result.Changes.Breaking() && !result.Restored && !allowBreaking {
		return nil, Result{CRD: current, Action: Unchanged, Changes: result.Changes}, &BreakingError{Name: current.Name, Changes: result.Changes}
	}
	labels := merge(current.Labels, desired.Labels, known.Labels)
	annotations := merge(current.Annotations, desired.Annotations, known.Annotations)
	if result.Changes.Empty() && sameMetadata(current.Labels, labels) && sameMetadata(current.Annotations, annotations) {
		return nil, result, nil
	}
	next := current.DeepCopy()
	next.Labels, next.Annotations = labels, annotations
	if !result.Changes.Empty() {
		next.Spec = *desired.Spec.DeepCopy()
	}
	result.Action = Updated
	return next, result, nil
}

// checkOwner refuses CRDs of others. A CRD of kro's that names no definition belongs to whoever asks for it.
func checkOwner(current, desired *apiextensionsv1.CustomResourceDefinition) error {
	if !IsOwned(current) {
		return &OwnershipError{Name: current.Name}
	}
	if label, ok := current.Labels[v1alpha1.DefinitionNameLabel]; ok && label != desired.Labels[v1alpha1.DefinitionNameLabel] {
		return &OwnershipError{Name: current.Name, Owner: OwnerName(current)}
	}
	return nil
}

// Established tells whether the API server serves the CRD.
func Established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	condition := conditionOf(crd, apiextensionsv1.Established)
	return condition != nil && condition.Status == apiextensionsv1.ConditionTrue
}

// Refusal says why the API server does not serve a CRD, such as that another CRD has its names, or "" when it has not said so.
func Refusal(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, kind := range []apiextensionsv1.CustomResourceDefinitionConditionType{
		apiextensionsv1.NamesAccepted, apiextensionsv1.NonStructuralSchema, apiextensionsv1.KubernetesAPIApprovalPolicyConformant,
	} {
		condition := conditionOf(crd, kind)
		if condition == nil {
			continue
		}
		bad := apiextensionsv1.ConditionFalse
		if kind == apiextensionsv1.NonStructuralSchema {
			bad = apiextensionsv1.ConditionTrue
		}
		if condition.Status == bad {
			return fmt.Sprintf("CRD %s is not served: %s: %s", crd.Name, condition.Reason, condition.Message)
		}
	}
	return ""
}

func conditionOf(crd *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range crd.Status.Conditions {
		if crd.Status.Conditions[i].Type == kind {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}
