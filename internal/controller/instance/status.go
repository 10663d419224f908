package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kro.run/kro/engine"
	"kro.run/kro/internal/metrics"
)

// stateDeleting is status.state of an instance that is being deleted.
const stateDeleting engine.State = "DELETING"

// result is what a pass has for the status besides kro's own conditions.
type result struct {
	pass    *engine.Pass
	outcome engine.Outcome
	hashes  map[string]string
}

// Names of kro's own fields in the status of an instance.
const (
	fieldState      = "state"
	fieldConditions = "conditions"
	fieldGraph      = "graph"
)

// writeStatus writes the status of the instance when it differs from what stands there. Without a result (suspended,
// blocked, being deleted) the author's fields stay as they are: they have not become wrong.
func (p *pass) writeStatus(ctx context.Context, state engine.State, r *result) error {
	before, _ := p.instance.Object["status"].(map[string]any)
	status := map[string]any{}
	if r == nil {
		for field, value := range before {
			status[field] = value
		}
	} else {
		state = p.project(ctx, r, state, status)
	}
	conditions, broken := p.conditions(ctx, r, before)
	if broken {
		state = engine.StateError
	}
	status[fieldState] = string(p.settledState(state, broken))
	status[fieldConditions] = conditions
	if reflect.DeepEqual(before, status) {
		p.observe(before, status)
		return nil
	}
	return p.patchStatus(ctx, before, status)
}

// project fills in the author's fields and the graph. A field that cannot be evaluated is absent and told in the
// condition; the others are written all the same.
func (p *pass) project(ctx context.Context, r *result, state engine.State, status map[string]any) engine.State {
	fields, faults := r.pass.Status(ctx)
	for name, value := range fields {
		if name != fieldState && name != fieldConditions {
			status[name] = value
		}
	}
	if len(faults) > 0 && r.outcome.Message == "" {
		p.report.False(resourcesReady, "NotReady", fmt.Sprintf("status field %s: %v", faults[0].Path, faults[0].Err))
		state = engine.StateError
	}
	if p.showsGraph() {
		status[fieldGraph] = p.graphStatus(r)
	}
	return state
}

// settledState makes the state follow the condition Ready: ACTIVE is what is Ready, and nothing else.
func (p *pass) settledState(state engine.State, broken bool) engine.State {
	switch {
	case broken || state == stateDeleting:
		return state
	case p.report.ready():
		return engine.StateActive
	case state == engine.StateActive:
		return engine.StateInProgress
	}
	return state
}

// patchStatus replaces the whole status in one request that cannot conflict; the test keeps it from an instance that
// has taken the name since.
func (p *pass) patchStatus(ctx context.Context, before, status map[string]any) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": p.instance.GetUID()},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	defer p.kind.store.Expect(p.key.Namespace, p.key.Name)()
	answer, err := p.client().Patch(ctx, p.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	p.keep(answer)
	p.observe(before, status)
	return nil
}

// observe counts a change of state, and tells of changed conditions where that was asked for.
func (p *pass) observe(before, after map[string]any) {
	from, _ := before[fieldState].(string)
	to, _ := after[fieldState].(string)
	if from != to {
		metrics.InstanceStateChanged(p.key.GVR, from, to)
	}
	p.announce(before, after)
}
