package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/internal/apply"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/metrics"
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
		p.show(p.report.List())
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
	p.announce(before["conditions"], wire["conditions"])
	p.keep(answer)
	p.status = status
	return nil
}

// announce emits events and metrics for conditions that have changed, where these are switched on.
func (p *pass) announce(before, after any) {
	now := conditions.FromUnstructured(after)
	p.show(now)
	if !p.Options.Events || p.Recorder == nil {
		return
	}
	for _, t := range conditions.Transitions(decided(conditions.FromUnstructured(before)), decided(now)) {
		if t.From == "" && t.To == metav1.ConditionTrue && !p.Options.EventsOfBirth {
			continue
		}
		from, kind := cmp.Or(string(t.From), "none"), corev1.EventTypeWarning
		if t.To == metav1.ConditionTrue {
			kind = corev1.EventTypeNormal
		}
		p.Recorder.Eventf(p.object, nil, kind, t.Type, "Reconcile", "%s -> %s: %s", from, t.To, t.Reason)
	}
}

// decided leaves out what no pass has found out anything about: a Graph writes its status before its first object, and nobody needs an event for that.
func decided(list []v1alpha1.Condition) []v1alpha1.Condition {
	return slices.DeleteFunc(slices.Clone(list), func(c v1alpha1.Condition) bool { return c.Reason == conditions.ReasonAwaiting })
}

// show sets the metrics of the conditions, where these are switched on.
func (p *pass) show(now []v1alpha1.Condition) {
	if !p.Options.ConditionMetrics {
		return
	}
	shown := make([]metrics.ConditionStatus, len(now))
	for i, c := range now {
		shown[i] = metrics.ConditionStatus{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Since: c.LastTransitionTime.Time}
	}
	metrics.SetConditions(resource, p.key.Namespace, p.key.Name, shown)
}

// keep makes the server's answer the Graph of this pass, and of the next until the cache has caught up.
func (p *pass) keep(answer *unstructured.Unstructured) {
	answer.SetManagedFields(nil)
	p.goOnWith(answer)
	p.store.Record(answer)
}

// goOnWith makes what the server has said the Graph of this pass. What somebody else changed since the pass began stands in it too, and needs another pass; no
// event will tell of it when an own write comes after.
func (p *pass) goOnWith(live *unstructured.Unstructured) {
	if foreignContent(live) != foreignContent(p.object) {
		p.queue.Add(p.key)
	}
	p.object = live
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
