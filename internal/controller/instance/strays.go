package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/engine"
	"kro.run/kro/internal/executor"
)

// The caches hold what carries kro.run/owned=true. Somebody may have taken that label off a child when nobody put it back: the instance is suspended, the
// controller was down, or the deletion came right after. Such a child is invisible, and letting the instance go would leave it behind for ever. So once in
// a deletion, and only when the status tells of children that the caches do not show, the server is asked; what it has gets its label back, and goes in
// its turn. Likewise one that is to be pruned.

// allMembers are the members of the ApplySet, before all of them are deleted.
func (p *pass) allMembers(ctx context.Context, resources []kschema.GroupVersionResource, setID string) ([]executor.Member, error) {
	members, err := executor.Members(p.stores, resources, setID)
	if err != nil || p.state.accounted {
		return members, err
	}
	nodes, known := p.toldOf()
	if known && p.accountsFor(nodes, members) {
		p.state.accounted = true
		return members, nil
	}
	if err := p.reclaim(ctx, resources); err != nil {
		return nil, err
	}
	p.state.accounted = true
	return executor.Members(p.stores, resources, setID)
}

// prunable are the members of the ApplySet, before those that the outcome does not want are pruned.
func (p *pass) prunable(ctx context.Context, resources []kschema.GroupVersionResource, setID string, outcome engine.Outcome) ([]executor.Member, error) {
	members, err := executor.Members(p.stores, resources, setID)
	if err != nil || !outcome.Prunable {
		return members, err
	}
	nodes, _ := p.toldOf()
	nodes = slices.DeleteFunc(nodes, func(told any) bool { return stillWanted(outcome, told) })
	if len(nodes) == 0 || p.accountsFor(nodes, members) {
		return members, nil
	}
	if err := p.reclaim(ctx, resources); err != nil {
		return nil, err
	}
	return executor.Members(p.stores, resources, setID)
}

// reclaim brings the members that lost their label back into the caches.
func (p *pass) reclaim(ctx context.Context, resources []kschema.GroupVersionResource) error {
	for _, gvr := range resources {
		strays, err := p.strays(ctx, gvr)
		if err != nil {
			return err
		}
		for i := range strays {
			if err := p.relabel(ctx, gvr, &strays[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// toldOf are the nodes as the status shows them; known is false when it shows none.
func (p *pass) toldOf() (nodes []any, known bool) {
	if !p.showsGraph() {
		return nil, false
	}
	status, _ := p.instance.Object["status"].(map[string]any)
	shown, _ := status[fieldGraph].(map[string]any)
	nodes, known = shown["nodes"].([]any)
	return slices.Clone(nodes), known
}

// stillWanted tells that the objects of a node of the status are those that it wants now.
func stillWanted(outcome engine.Outcome, told any) bool {
	node, _ := told.(map[string]any)
	for _, n := range outcome.Nodes {
		if n.Node.ID != node["id"] || n.Phase != engine.Observed {
			continue
		}
		if n.Node.Collection {
			items, _ := node["items"].(int64)
			return items <= int64(len(n.Desired))
		}
		return len(n.Desired) == 0 || n.Desired[0].Identity.Name == node["name"] && n.Desired[0].Identity.Kind == node["kind"]
	}
	return false
}

// accountsFor tells whether all children of nodes of the status are among the members.
func (p *pass) accountsFor(nodes []any, members []executor.Member) bool {
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
	if apierrors.IsNotFound(err) || executor.Replaced(err) { // gone, or another object by now
		return nil
	}
	if err != nil {
		return fmt.Errorf("putting label %s back on %s: %w", v1alpha1.OwnedLabel, executor.Describe(object), err)
	}
	answer.SetManagedFields(nil)
	p.stores.Members(gvr).Record(answer)
	return nil
}
