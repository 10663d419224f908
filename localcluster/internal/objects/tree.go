package objects

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
)

const (
	instanceIDLabel      = "kro.run/instance-id"
	namespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
)

// Tree shows an instance, the objects kro made for it and what those own in
// turn, as indented text.
func (c *Cluster) Tree(ctx context.Context, instance *unstructured.Unstructured) (string, error) {
	c.discovery.Invalidate()
	kinds, err := c.listable()
	if err != nil {
		return "", fmt.Errorf("list what the cluster serves: %w", err)
	}
	namespaces := namespacesOf(instance)
	var all []*unstructured.Unstructured
	for _, kind := range kinds {
		found, err := c.list(ctx, kind, namespaces)
		if err != nil {
			return "", fmt.Errorf("list %s: %w", kind.gvr.Resource, err)
		}
		all = append(all, found...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", Name(instance), Summary(instance))
	draw(&b, instance.GetUID(), children(all), instance.GetNamespace(), "")
	return b.String(), nil
}

type kind struct {
	gvr        kschema.GroupVersionResource
	namespaced bool
}

// listable gives the kinds that can own or be owned, one version each.
func (c *Cluster) listable() ([]kind, error) {
	lists, err := discovery.ServerPreferredResources(c.discovery)
	if err != nil && len(lists) == 0 {
		return nil, err
	}
	var kinds []kind
	for _, list := range lists {
		gv, err := kschema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || r.Kind == "Event" {
				continue
			}
			kinds = append(kinds, kind{gv.WithResource(r.Name), r.Namespaced})
		}
	}
	return kinds, nil
}

func namespacesOf(instance *unstructured.Unstructured) []string {
	namespaces := []string{instance.GetNamespace()}
	for ns := range strings.SplitSeq(instance.GetAnnotations()[namespacesAnnotation], ",") {
		if ns != "" && !slices.Contains(namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	return slices.DeleteFunc(namespaces, func(ns string) bool { return ns == "" })
}

func (c *Cluster) list(ctx context.Context, k kind, namespaces []string) ([]*unstructured.Unstructured, error) {
	if !k.namespaced {
		namespaces = []string{metav1.NamespaceNone}
	}
	var objects []*unstructured.Unstructured
	for _, namespace := range namespaces {
		list, err := c.client.Resource(k.gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	return objects, nil
}

// children groups objects by what they belong to: their controller, else the
// instance that their label names. The result is sorted by kind and name.
func children(all []*unstructured.Unstructured) map[types.UID][]*unstructured.Unstructured {
	of := map[types.UID][]*unstructured.Unstructured{}
	for _, object := range all {
		parent := types.UID(object.GetLabels()[instanceIDLabel])
		if owner := metav1.GetControllerOf(object); owner != nil {
			parent = owner.UID
		}
		if parent != "" {
			of[parent] = append(of[parent], object)
		}
	}
	for _, group := range of {
		slices.SortFunc(group, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
	}
	return of
}

// draw writes one level. Owners come before what they own, so the tree is
// finite unless UIDs repeat, which the API server rules out.
func draw(b *strings.Builder, parent types.UID, of map[types.UID][]*unstructured.Unstructured, namespace, indent string) {
	for i, object := range of[parent] {
		branch, next := "├─ ", "│  "
		if i == len(of[parent])-1 {
			branch, next = "└─ ", "   "
		}
		name := object.GetKind() + " " + object.GetName()
		if object.GetNamespace() != namespace {
			name = Name(object)
		}
		line := indent + branch + name
		if s := Summary(object); s != "" {
			line += "  " + s
		}
		b.WriteString(line + "\n")
		draw(b, object.GetUID(), of, namespace, indent+next)
	}
}

// Summary tells in a few words how an object is.
func Summary(object *unstructured.Unstructured) string {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	switch object.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet":
		return cmp.Or(text("status", "readyReplicas"), "0") + "/" + cmp.Or(text("spec", "replicas"), "1") + " ready"
	case "Service":
		return text("spec", "clusterIP")
	case "Pod":
		for _, c := range conditionsOf(object) {
			if c.Type == "Ready" && c.Reason == "Simulated" {
				return text("status", "phase") + " (simulated)"
			}
		}
	}
	if state := text("status", "state"); state != "" {
		for _, c := range conditionsOf(object) {
			if c.Type == "Ready" {
				state += " Ready=" + string(c.Status)
			}
		}
		return state
	}
	return text("status", "phase")
}
