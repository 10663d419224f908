package simulation

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kro.run/kro/internal/executor"
)

// Client is the dynamic client of one controller.
type Client struct{ Server *Server }

var _ dynamic.Interface = Client{}

// Resource implements dynamic.Interface.
func (c Client) Resource(gvr kschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return requests{server: c.Server, gvr: gvr}
}

type requests struct {
	dynamic.NamespaceableResourceInterface // what kro does not use would panic
	server                                 *Server
	gvr                                    kschema.GroupVersionResource
	namespace                              string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r requests) Namespace(ns string) dynamic.ResourceInterface {
	r.namespace = ns
	return r
}

func (r requests) request(op, name string, object *unstructured.Unstructured) Request {
	if object == nil {
		object = &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(name)
	}
	return Request{Op: op, Key: executor.Key{GVR: r.gvr, Namespace: r.namespace, Name: name}, Object: object}
}

// Apply implements dynamic.ResourceInterface.
func (r requests) Apply(_ context.Context, name string, object *unstructured.Unstructured, o metav1.ApplyOptions, sub ...string) (*unstructured.Unstructured, error) {
	request := r.request("apply", name, object)
	request.Manager, request.Subresource = o.FieldManager, strings.Join(sub, "/")
	request.Force = o.Force
	return r.server.around(request, func() (*unstructured.Unstructured, error) {
		return r.server.apply(request.Key, object.DeepCopy(), o, request.Subresource)
	})
}

// Patch implements dynamic.ResourceInterface.
func (r requests) Patch(_ context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	request := r.request("patch", name, nil)
	request.Manager, request.Subresource = o.FieldManager, strings.Join(sub, "/")
	if kind == types.MergePatchType {
		request.Op = "merge"
		var patch metav1.PartialObjectMetadata
		if err := json.Unmarshal(data, &patch); err != nil {
			return nil, err
		}
		request.Object.SetUID(patch.UID)
		return r.server.around(request, func() (*unstructured.Unstructured, error) { return r.server.mergePatch(request.Key, data) })
	}
	return r.server.around(request, func() (*unstructured.Unstructured, error) { return r.server.jsonPatch(request.Key, data) })
}

// Get implements dynamic.ResourceInterface.
func (r requests) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	request := r.request("get", name, nil)
	return r.server.around(request, func() (*unstructured.Unstructured, error) {
		o := r.server.objects[request.Key]
		if o == nil {
			return nil, apierrors.NewNotFound(r.gvr.GroupResource(), name)
		}
		return o.shown(), nil
	})
}

// List implements dynamic.ResourceInterface, for a selector of one label.
func (r requests) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	label, value, _ := strings.Cut(o.LabelSelector, "=")
	list := &unstructured.UnstructuredList{}
	_, err := r.server.around(r.request("get", "", nil), func() (*unstructured.Unstructured, error) {
		for _, key := range r.server.Keys() {
			if o := r.server.objects[key]; key.GVR == r.gvr && o.typed().GetLabels()[label] == value {
				list.Items = append(list.Items, *o.shown())
			}
		}
		return nil, nil
	})
	return list, err
}

// Create implements dynamic.ResourceInterface. All that kro creates are questions about rights; the answer is yes.
func (r requests) Create(_ context.Context, object *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	return r.server.around(r.request("review", object.GetName(), object), func() (*unstructured.Unstructured, error) {
		answer := object.DeepCopy()
		answer.Object["status"] = map[string]any{"allowed": true}
		return answer, nil
	})
}

// Delete implements dynamic.ResourceInterface.
func (r requests) Delete(_ context.Context, name string, o metav1.DeleteOptions, _ ...string) error {
	var uid types.UID
	var version string
	if p := o.Preconditions; p != nil && p.UID != nil {
		uid = *p.UID
	}
	if p := o.Preconditions; p != nil && p.ResourceVersion != nil {
		version = *p.ResourceVersion
	}
	request := r.request("delete", name, nil)
	request.Object.SetUID(uid)
	request.Object.SetResourceVersion(version)
	_, err := r.server.around(request, func() (*unstructured.Unstructured, error) { return nil, r.server.delete(request.Key, uid, version) })
	return err
}
