package instance

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/cel"
	"kro.run/kro/engine"
	"kro.run/kro/internal/conditions"
)

// conditions gives status.conditions: kro's own, or the author's when the definition declares any. It tells besides
// whether an author's condition could not be had for another reason than missing data.
func (p *pass) conditions(ctx context.Context, r *result, before map[string]any) (list []any, broken bool) {
	program := p.kind.definition.Program
	if program == nil && hasAuthors(before) || program != nil && program.HasConditions {
		return p.authors(ctx, r, before)
	}
	return conditions.ToUnstructured(p.report.List()), false
}

// hasAuthors tells that the conditions that stand are an author's, for an instance whose program is not known.
func hasAuthors(status map[string]any) bool {
	for _, c := range conditions.FromUnstructured(status[fieldConditions]) {
		if !isBuiltin(c.Type) {
			return true
		}
	}
	return false
}

// authors evaluates the author's conditions, each entry on its own. What has no data now keeps its last value; a type
// that came out twice is dropped, since one of the two would be wrong.
func (p *pass) authors(ctx context.Context, r *result, before map[string]any) (list []any, broken bool) {
	standing := conditions.FromUnstructured(before[fieldConditions])
	program := p.kind.definition.Program
	if program == nil || p.instance.GetDeletionTimestamp() != nil {
		return wire(p.overlay(standing)), false
	}
	// Without a walk (suspended, blocked) the entries see the instance and kro's own conditions, and no node.
	work := engine.Begin(program, p.instance.Object, engine.Options{})
	if r != nil {
		work = r.pass
	}
	produced, incomplete, broken := p.evaluate(ctx, work)
	var out []v1alpha1.Condition
	count := map[string]int{}
	for _, c := range produced {
		count[c.Type]++
	}
	for _, c := range produced {
		if count[c.Type] > 1 {
			broken = true
			continue
		}
		out = append(out, p.stamp(c, standing))
	}
	if incomplete {
		for _, c := range standing {
			if count[c.Type] == 0 && !(isBuiltin(c.Type) && !p.declares(c.Type)) {
				out = append(out, c)
			}
		}
	}
	return wire(out), broken
}

// evaluate runs the entries. Incomplete means that some entry gave nothing for want of data.
func (p *pass) evaluate(ctx context.Context, work *engine.Pass) (produced []cel.StatusCondition, incomplete, broken bool) {
	var own []cel.StatusCondition
	for _, c := range p.report.List() {
		own = append(own, cel.StatusCondition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	for _, entry := range p.kind.definition.Program.Conditions {
		found, err := work.Condition(ctx, entry, own)
		switch {
		case err == nil:
			produced = append(produced, found...)
		case engine.IsPending(err):
			incomplete = true
		default:
			incomplete, broken = true, true
			p.kind.log.Info("a condition of the definition cannot be evaluated", "namespace", p.key.Namespace, "name", p.key.Name, "error", err.Error())
		}
	}
	return produced, incomplete, broken
}

// declares tells that the author declares a condition of that type.
func (p *pass) declares(typ string) bool {
	for _, entry := range p.kind.definition.Program.Conditions {
		if slices.Contains(entry.ConditionTypes(), typ) {
			return true
		}
	}
	return false
}

// stamp makes a condition of the wire: the time moves only when the status does.
func (p *pass) stamp(c cel.StatusCondition, standing []v1alpha1.Condition) v1alpha1.Condition {
	out := v1alpha1.Condition{
		Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		ObservedGeneration: p.instance.GetGeneration(),
		LastTransitionTime: metav1.NewTime(p.Clock.Now().Truncate(time.Second)),
	}
	for _, old := range standing {
		if old.Type == c.Type && old.Status == out.Status && !old.LastTransitionTime.IsZero() {
			out.LastTransitionTime = old.LastTransitionTime
		}
	}
	return out
}

// overlay puts kro's word on a deletion over the author's last conditions.
func (p *pass) overlay(standing []v1alpha1.Condition) []v1alpha1.Condition {
	if p.instance.GetDeletionTimestamp() == nil {
		return standing
	}
	own, _ := p.report.Get(resourcesReady)
	out := slices.DeleteFunc(slices.Clone(standing), func(c v1alpha1.Condition) bool { return c.Type == resourcesReady })
	return append(out, own)
}

// wire leaves empty reasons and messages out, as authors' conditions have them.
func wire(list []v1alpha1.Condition) []any {
	items := conditions.ToUnstructured(list)
	for _, item := range items {
		fields := item.(map[string]any)
		for _, name := range []string{"reason", "message"} {
			if fields[name] == "" {
				delete(fields, name)
			}
		}
	}
	return items
}
