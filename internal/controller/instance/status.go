package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

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
			status[field] = runtime.DeepCopyJSONValue(value) // what is read from a cache is shared
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
	status = asOnWire(status).(map[string]any)
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
	if stands, _ := answer.Object["status"].(map[string]any); !reflect.DeepEqual(stands, status) {
		// The server serves the old schema of the kind for a moment after its CRD changed, and prunes what is new.
		return errPruned
	}
	return nil
}

// errPruned says that the server did not keep the status as it was written.
var errPruned = errors.New("the server did not keep all fields of the status")

// asOnWire gives numbers the form in which they come back from the server, so that what was written compares equal to what is
// read: 1.0 is 1 in JSON.
func asOnWire(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = asOnWire(e)
		}
	case []any:
		for i, e := range x {
			x[i] = asOnWire(e)
		}
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x)
		}
	case int:
		return int64(x)
	}
	return v
}

// observe counts a change of state, and tells of changed conditions where that was asked for.
func (p *pass) observe(before, after map[string]any) {
	from, _ := before[fieldState].(string)
	to, _ := after[fieldState].(string)
	if from != to {
		metrics.InstanceStateChanged(p.kind.gvk, from, to)
	}
	p.announce(before, after)
}
