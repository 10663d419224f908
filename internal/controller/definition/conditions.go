package definition

import (
	"fmt"

	"kro.run/kro/internal/conditions"
)

// The conditions of a definition.
const (
	ready             = "Ready"
	revisionsResolved = "GraphRevisionsResolved"
	graphAccepted     = "GraphAccepted"
	kindReady         = "KindReady"
	controllerReady   = "ControllerReady"
)

var conditionTypes = conditions.Types{
	Root:       ready,
	Dependents: []string{revisionsResolved, graphAccepted, kindReady, controllerReady},
	Retired:    []string{"ResourceGraphAccepted"},
}

// Reasons of conditions.
const (
	reasonResolved         = "Resolved"
	reasonFailed           = "Failed"
	reasonWaitSettlement   = "WaitingForGraphRevisionSettlement"
	reasonValid            = "Valid"
	reasonInvalid          = "InvalidResourceGraph"
	reasonSchemaUnknown    = "SchemaUnavailable"
	reasonReady            = "Ready"
	reasonWaitEstablished  = "WaitingForEstablishment"
	reasonRunning          = "Running"
	reasonFailedToStart    = "FailedToStart"
	reasonDeletionBlocked  = "DeletionBlocked"
	messageValid           = "resource graph and schema are valid"
	messageRunning         = "controller is running"
	messageWaitSettlement  = "waiting for terminating graph revisions to settle"
	messageKindReadyFormat = "kind %s has been accepted and ready"
)

func messageResolved(revision int64) string {
	return fmt.Sprintf("revision %d compiled and active", revision)
}

func messageLatestFailed(revision int64) string {
	return fmt.Sprintf("latest graph revision %d failed compilation", revision)
}
