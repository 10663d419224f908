package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/conditions"
)

// The conditions of a Graph.
const (
	accepted           = "Accepted"
	resourcesConverged = "ResourcesConverged"
	ready              = "Ready"
)

var conditionTypes = conditions.Types{Root: ready, Dependents: []string{accepted, resourcesConverged}}

// errGone says that the Graph is not there any more. Its last event has been or will be worked on.
var errGone = errors.New("the Graph is gone")

// writeStatus writes the status when it differs from what stands there, in one request that cannot conflict; the test keeps it from a Graph that has taken the
// name since. What was written is the status of this pass from then on.
func (p *pass) writeStatus(ctx context.Context, status v1alpha1.GraphStatus) error {
	status.Conditions = nil
	wire, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	wire["conditions"] = conditions.ToUnstructured(p.report.List())
	before, _ := p.object.Object["status"].(map[string]any)
	if reflect.DeepEqual(before, wire) {
		p.status = status
		return nil
	}
	body, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": p.object.GetUID()},
		{"op": "add", "path": "/status", "value": wire},
	})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	defer p.store.Expect(p.key.Namespace, p.key.Name)()
	answer, err := p.Client.Resource(resource).Namespace(p.key.Namespace).Patch(ctx, p.key.Name, types.JSONPatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return errGone
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	p.keep(answer)
	p.status = status
	return nil
}

// keep makes the server's answer the Graph of this pass, and of the next until the cache has caught up. What somebody else changed since the pass began stands
// in the answer too; no event will tell of it, since our own write came after.
func (p *pass) keep(answer *unstructured.Unstructured) {
	answer.SetManagedFields(nil)
	if foreignContent(answer) != foreignContent(p.object) {
		p.queue.Add(p.key)
	}
	p.store.Record(answer)
	p.object = answer
}

// foreignContent is the content of a Graph that others write.
func foreignContent(g *unstructured.Unstructured) string {
	return apply.ContentHash(map[string]any{
		"spec": g.Object["spec"], "deleting": g.GetDeletionTimestamp() != nil,
		"suspended": g.GetAnnotations()[v1alpha1.ReconcileAnnotation],
	})
}

// nodeStatuses tells how each node stands. The hashes of what was applied make the status the memory of the controller over a restart.
func nodeStatuses(outcome engine.Outcome, hashes map[string]string) []v1alpha1.NodeStatus {
	list := make([]v1alpha1.NodeStatus, len(outcome.Nodes))
	for i, n := range outcome.Nodes {
		list[i] = v1alpha1.NodeStatus{ID: n.Node.Path, State: n.State(), Message: conditions.Short(n.Message), Hash: hashes[n.Node.Path]}
	}
	return list
}

// trusted are the hashes of what each node applied last. They contain the UID of the Graph, so those of a restored backup do not count.
func (p *pass) trusted() map[string]string {
	hashes := make(map[string]string, len(p.status.Nodes))
	for _, n := range p.status.Nodes {
		if n.Hash != "" {
			hashes[n.ID] = n.Hash
		}
	}
	return hashes
}
