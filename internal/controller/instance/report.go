package instance

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/metrics"
)

// kro's own conditions of an instance.
const (
	ready           = "Ready"
	instanceManaged = "InstanceManaged"
	graphResolved   = "GraphResolved"
	resourcesReady  = "ResourcesReady"

	managedMessage  = "instance is properly managed with finalizers and labels"
	resolvedMessage = "runtime graph created and all resources resolved"
)

var builtins = conditions.Types{Root: ready, Dependents: []string{instanceManaged, graphResolved, resourcesReady}}

// report collects kro's own conditions during a reconcile.
type report struct {
	*conditions.Ledger
}

// openReport starts from those of kro's own conditions that stand in the status; the author's are kept elsewhere.
func openReport(instance *unstructured.Unstructured, now time.Time) *report {
	status, _ := instance.Object["status"].(map[string]any)
	var own []v1alpha1.Condition
	for _, c := range conditions.FromUnstructured(status[fieldConditions]) {
		if isBuiltin(c.Type) {
			own = append(own, c)
		}
	}
	return &report{Ledger: builtins.Open(own, conditions.Of(instance), now)}
}

func (r *report) ready() bool { return r.Ready() }

func isBuiltin(typ string) bool {
	switch typ {
	case ready, instanceManaged, graphResolved, resourcesReady:
		return true
	}
	return false
}

// announce emits events and metrics for the conditions of the instance, where these are switched on.
func (p *pass) announce(before, after map[string]any) {
	if p.kind.events == nil && !p.Options.ConditionMetrics {
		return
	}
	old, now := conditions.FromUnstructured(before[fieldConditions]), conditions.FromUnstructured(after[fieldConditions])
	if p.kind.events != nil {
		for _, t := range conditions.Transitions(old, now) {
			if t.From != "" || t.To != metav1.ConditionTrue || p.Options.EventsOfBirth {
				p.event(t)
			}
		}
	}
	if p.Options.ConditionMetrics {
		shown := make([]metrics.ConditionStatus, len(now))
		for i, c := range now {
			shown[i] = metrics.ConditionStatus{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Since: c.LastTransitionTime.Time}
		}
		metrics.SetConditions(p.key.GVR, p.key.Namespace, p.key.Name, shown)
	}
}

func (p *pass) event(t conditions.Transition) {
	from := string(t.From)
	if from == "" {
		from = "none"
	}
	kind := corev1.EventTypeWarning
	if t.To == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	p.kind.events.Event(p.instance, kind, t.Type, fmt.Sprintf("%s -> %s: %s", from, t.To, t.Reason))
}
