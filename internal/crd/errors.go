package crd

import "fmt"

// OwnershipError says that the CRD of the cluster is somebody else's. It ends when that CRD is deleted or changes hands.
type OwnershipError struct {
	// Name is the name of the CRD.
	Name string
	// Owner is the definition that the CRD belongs to; empty when kro did not make it.
	Owner string
}

func (e *OwnershipError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("failed to update CRD %s: CRD already exists and is not owned by KRO", e.Name)
	}
	return fmt.Sprintf("failed to update CRD %s: CRD is owned by another ResourceGraphDefinition %s", e.Name, e.Owner)
}

// BreakingError says that the CRD was left as it is because stored instances could become invalid or lose fields. It ends when the definition changes or allows it.
type BreakingError struct {
	// Name is the name of the CRD.
	Name string
	// Changes is everything that differs.
	Changes Report
}

func (e *BreakingError) Error() string {
	return fmt.Sprintf("cannot update CRD %s: breaking changes detected: %s", e.Name, e.Changes.Summary())
}

// DeletingError says that the CRD is on its way out; it is made again once it is gone.
type DeletingError struct {
	// Name is the name of the CRD.
	Name string
}

func (e *DeletingError) Error() string {
	return fmt.Sprintf("failed to update CRD %s: CRD is being deleted; it is made again when it is gone", e.Name)
}
