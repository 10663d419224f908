package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kro.run/kro/api/v1alpha1"
)

// Server is the API server as the executor needs it.
type Server interface {
	// Apply sends an object by server-side apply. Without force it fails with a conflict where another manager owns a field.
	Apply(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured, options ApplyOptions) (*unstructured.Unstructured, error)
	// Get reads one object live.
	Get(ctx context.Context, gvr kschema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error)
	// Delete deletes the object of that UID, and what it owns with it (a Job takes its Pods along). An object that is
	// gone, or that has been replaced by another, is no error.
	Delete(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured) error
	// Patch sends a JSON patch for an object as a manager.
	Patch(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured, manager string, ops []map[string]any) (*unstructured.Unstructured, error)
	// Merge sends a JSON merge patch for the metadata of the object of that UID. An object that is gone, or that has been replaced by another, is no
	// error.
	Merge(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured, metadata map[string]any) error
}

// ApplyOptions say how an object is applied.
type ApplyOptions struct {
	// Manager is the field manager.
	Manager string
	// Force takes fields over from other managers.
	Force bool
	// Subresource is "status" or empty.
	Subresource string
	// UID makes the server refuse the apply, with an error of which Replaced is true, when there is no object of that UID any more.
	UID UID
}

// Live is the Server behind a dynamic client.
type Live struct {
	Client dynamic.Interface
}

var _ Server = Live{}

func (l Live) resource(gvr kschema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return l.Client.Resource(gvr)
	}
	return l.Client.Resource(gvr).Namespace(namespace)
}

// Apply implements Server.
func (l Live) Apply(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured, options ApplyOptions) (*unstructured.Unstructured, error) {
	var subresources []string
	if options.Subresource != "" {
		subresources = append(subresources, options.Subresource)
	}
	if options.UID != "" {
		object = withUID(object, options.UID)
	}
	return l.resource(gvr, object.GetNamespace()).Apply(ctx, object.GetName(), object,
		metav1.ApplyOptions{FieldManager: options.Manager, Force: options.Force}, subresources...)
}

// withUID is object with a UID. object itself stays as it is, and shares what the copy holds.
func withUID(object *unstructured.Unstructured, uid UID) *unstructured.Unstructured {
	metadata, _ := object.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["uid"] = string(uid)
	content := maps.Clone(object.Object)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}

// replacedTexts are the words of an apply, of a deletion, and of a deletion that came while the object was being replaced.
var replacedTexts = []string{"uid mismatch", "the UID in the precondition", "Precondition failed: UID in precondition"}

// Replaced tells that the server refused a request because the object of the UID in it is gone, or because another one stands in its place. For an apply and
// a deletion that is a Conflict, which only its text tells from others (an admission webhook may answer with a Conflict too); for a patch it is an Invalid,
// because UIDs are immutable.
func Replaced(err error) bool {
	if apierrors.IsConflict(err) {
		text := err.Error()
		return slices.ContainsFunc(replacedTexts, func(part string) bool { return strings.Contains(text, part) })
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// Patch implements Server.
func (l Live) Patch(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured, manager string, ops []map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return l.resource(gvr, object.GetNamespace()).Patch(ctx, object.GetName(), types.JSONPatchType, data, metav1.PatchOptions{FieldManager: manager})
}

// Get implements Server.
func (l Live) Get(ctx context.Context, gvr kschema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	return l.resource(gvr, namespace).Get(ctx, name, metav1.GetOptions{})
}

// Delete implements Server.
func (l Live) Delete(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured) error {
	uid := object.GetUID()
	background := metav1.DeletePropagationBackground
	err := l.resource(gvr, object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid},
		PropagationPolicy: &background,
	})
	if apierrors.IsNotFound(err) || Replaced(err) {
		return nil
	}
	return err
}

// Merge implements Server.
func (l Live) Merge(ctx context.Context, gvr kschema.GroupVersionResource, object *unstructured.Unstructured, metadata map[string]any) error {
	body := map[string]any{"uid": string(object.GetUID())}
	maps.Copy(body, metadata)
	patch, err := json.Marshal(map[string]any{"metadata": body})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	_, err = l.resource(gvr, object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: v1alpha1.FieldManager})
	if apierrors.IsNotFound(err) || Replaced(err) {
		return nil
	}
	return err
}

// isManagerConflict tells a server-side apply conflict (another manager owns a field) from other conflicts.
func isManagerConflict(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			return true
		}
	}
	return false
}

// Store is the cache of the objects of one kind that kro owns, or of what a reference reads.
type Store interface {
	Synced() bool
	Err() error
	Done() <-chan struct{}
	Get(namespace, name string) (*unstructured.Unstructured, bool)
	ByIndex(index, value string) []*unstructured.Unstructured
	List() []*unstructured.Unstructured
	// Record puts the server's answer to an own write in front of the cache.
	Record(object *unstructured.Unstructured)
	// Expect keeps events of one object back while a write to it is under way; settle lets go of them.
	Expect(namespace, name string) (settle func())
}

// Stores gives access to the caches.
type Stores interface {
	// Members is the cache of the objects of a kind that kro owns.
	Members(gvr kschema.GroupVersionResource) Store
	// External is the cache of what one reference of an instance reads; the instance is woken when it changes.
	External(gvr kschema.GroupVersionResource, target Target) Store
}

// Target says what a reference reads.
type Target struct {
	Namespace, Name, Selector string
}

// Key names an object of a kind in the caches.
type Key struct {
	GVR             kschema.GroupVersionResource
	Namespace, Name string
}

// UID is the identity of an object over time.
type UID = types.UID
