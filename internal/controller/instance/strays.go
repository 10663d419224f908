package instance

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/executor"
)

// The caches hold what carries kro.run/owned=true. Somebody may have taken that label off a child when nobody put it back: the instance is suspended, the
// controller was down, or the deletion came right after. Such a child is invisible, and letting the instance go would leave it behind for ever. So once in
// a deletion, and only when the status tells of children that the caches do not show, the server is asked; what it has gets its label back, and goes in
// its turn.

// reclaim brings the members that lost their label back into the caches. It tells whether there were any.
func (p *pass) reclaim(ctx context.Context, resources []kschema.GroupVersionResource, shown []executor.Member) (bool, error) {
	if p.state.accounted {
		return false, nil
	}
	found := false
	if !p.accountsFor(shown) {
		for _, gvr := range resources {
			strays, err := p.strays(ctx, gvr)
			if err != nil {
				return false, err
			}
			for i := range strays {
				if err := p.relabel(ctx, gvr, &strays[i]); err != nil {
					return false, err
				}
				found = true
			}
		}
	}
	p.state.accounted = true
	return found, nil
}

// accountsFor tells whether all children that the status tells of are among the members.
func (p *pass) accountsFor(members []executor.Member) bool {
	if !p.showsGraph() {
		return false
	}
	status, _ := p.instance.Object["status"].(map[string]any)
	shown, _ := status[fieldGraph].(map[string]any)
	nodes, _ := shown["nodes"].([]any)
	if nodes == nil {
		return false
	}
	names, items := map[string]bool{}, map[string]int64{}
	for _, m := range members {
		names[m.Object.GetKind()+"/"+m.Object.GetNamespace()+"/"+m.Object.GetName()] = true
		items[executor.NodeOf(m.Object)]++
	}
	for _, entry := range nodes {
		node, _ := entry.(map[string]any)
		kind, _ := node["kind"].(string)
		if state := node["state"]; kind == "" || state != "Ready" && state != "NotReady" {
			continue
		}
		id, _ := node["id"].(string)
		name, _ := node["name"].(string)
		namespace, _ := node["namespace"].(string)
		count, _ := node["items"].(int64)
		if name != "" && !names[kind+"/"+namespace+"/"+name] || count > items[id] {
			return false
		}
	}
	return true
}

// strays lists the members of the ApplySet on the server that the caches do not hold.
func (p *pass) strays(ctx context.Context, gvr kschema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	list, err := p.Client.Resource(gvr).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.PartOfLabel + "=" + p.owner().SetID})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the members of the ApplySet: %w", err)
	}
	var strays []unstructured.Unstructured
	for _, object := range list.Items {
		if object.GetLabels()[v1alpha1.OwnedLabel] != "true" {
			strays = append(strays, object)
		}
	}
	return strays, nil
}

func (p *pass) relabel(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.GetUID(), "labels": map[string]any{v1alpha1.OwnedLabel: "true"},
	}})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	answer, err := p.Client.Resource(gvr).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: v1alpha1.FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or another object by now
		return nil
	}
	if err != nil {
		return fmt.Errorf("putting label %s back on %s: %w", v1alpha1.OwnedLabel, executor.Describe(object), err)
	}
	answer.SetManagedFields(nil)
	p.stores.Members(gvr).Record(answer)
	return nil
}
