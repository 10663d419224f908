package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/jsonpath"
)

const (
	patience = 20 * time.Second
	glance   = 5 * time.Second
	pause    = 100 * time.Millisecond
)

// Run is one case on one cluster.
type Run struct {
	Client dynamic.Interface
	// Mapper must notice kinds that appear while the case runs.
	Mapper meta.ResettableRESTMapper
	// Namespace is that of objects which name none.
	Namespace string
}

// Do runs the steps of a case until one does not hold.
func (r *Run) Do(ctx context.Context, steps []Step) error {
	if err := until(ctx, patience, func() error { return r.home(ctx) }); err != nil {
		return fmt.Errorf("make namespace %s: %w", r.Namespace, err)
	}
	for i, step := range steps {
		if err := r.step(ctx, step); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// home makes the namespace, once one that a former try has left is gone.
func (r *Run) home(ctx context.Context) error {
	if err := r.apply(ctx, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": r.Namespace}}); err != nil {
		return err
	}
	made, err := r.Client.Resource(namespaceResource).Get(ctx, r.Namespace, metav1.GetOptions{})
	if err == nil && made.GetDeletionTimestamp() != nil {
		err = errors.New("it is being deleted")
	}
	return err
}

func (r *Run) step(ctx context.Context, s Step) error {
	for _, object := range s.Apply {
		if err := until(ctx, s.Within.or(patience), func() error { return r.apply(ctx, object) }); err != nil {
			return fmt.Errorf("apply: %w", err)
		}
	}
	if s.Refuse != nil && r.apply(ctx, s.Refuse) == nil {
		return fmt.Errorf("the API server has not refused %v", s.Refuse["metadata"])
	}
	if err := r.patch(ctx, s.Patch); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	for _, object := range s.Delete {
		if err := r.delete(ctx, object); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	var failures []error // all that does not hold, not the first alone: a case is often a table
	end := time.Now().Add(s.Within.or(patience))
	for _, c := range s.Expect {
		failures = append(failures, until(ctx, time.Until(end), func() error { return r.holds(ctx, c) }))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if err := r.stay(ctx, s); err != nil {
		return err
	}
	for _, name := range s.Absent {
		if err := until(ctx, s.Within.or(patience), func() error { return r.absent(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) stay(ctx context.Context, s Step) error {
	if len(s.Stays) == 0 {
		return nil
	}
	for end := time.Now().Add(s.For.or(glance)); time.Now().Before(end); time.Sleep(pause) {
		for _, c := range s.Stays {
			if err := r.holds(ctx, c); err != nil {
				return fmt.Errorf("does not stay so: %w", err)
			}
		}
	}
	return nil
}

func (r *Run) apply(ctx context.Context, object map[string]any) error {
	o := &unstructured.Unstructured{Object: object}
	resource, err := r.resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "conformance", Force: true})
	return err
}

func (r *Run) patch(ctx context.Context, p *Patch) error {
	if p == nil {
		return nil
	}
	gvk, namespace, name := parse(p.Get)
	resource, err := r.resource(gvk, namespace)
	if err != nil {
		return err
	}
	var subresources []string
	if p.Subresource != "" {
		subresources = []string{p.Subresource}
	}
	_, err = resource.Patch(ctx, name, types.MergePatchType, []byte(p.Merge), metav1.PatchOptions{FieldManager: "conformance"}, subresources...)
	return err
}

func (r *Run) delete(ctx context.Context, object map[string]any) error {
	o := &unstructured.Unstructured{Object: object}
	resource, err := r.resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	return resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
}

func (r *Run) absent(ctx context.Context, name string) error {
	_, err := r.get(ctx, name)
	switch {
	case err == nil:
		return fmt.Errorf("%s is still there", name)
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	}
	return err
}

func (r *Run) holds(ctx context.Context, c Check) error {
	object, err := r.get(ctx, c.Get)
	if err != nil {
		return err
	}
	path := jsonpath.New(c.Get).AllowMissingKeys(true)
	if err := path.Parse(c.Path); err != nil {
		return fmt.Errorf("path %s: %w", c.Path, err)
	}
	var found bytes.Buffer
	if err := path.Execute(&found, object.Object); err != nil {
		return fmt.Errorf("path %s in %s: %w", c.Path, c.Get, err)
	}
	return c.compare(found.String())
}

func (c Check) compare(got string) error {
	want := ""
	switch {
	case c.Is != nil && got != *c.Is:
		want = fmt.Sprintf("want %q", *c.Is)
	case c.Has != "" && !strings.Contains(got, c.Has):
		want = fmt.Sprintf("want it to contain %q", c.Has)
	case c.Not != "" && strings.Contains(got, c.Not):
		want = fmt.Sprintf("must not contain %q", c.Not)
	case c.Matches != "":
		pattern, err := regexp.Compile(c.Matches)
		if err != nil {
			return err
		}
		if !pattern.MatchString(got) {
			want = fmt.Sprintf("want it to match %q", c.Matches)
		}
	}
	if want == "" {
		return nil
	}
	return fmt.Errorf("%s %s is %q, %s", c.Get, c.Path, got, want)
}

func (r *Run) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	gvk, namespace, name := parse(name)
	resource, err := r.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, name, metav1.GetOptions{})
}

func (r *Run) resource(gvk kschema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		r.Mapper.Reset()
		mapping, err = r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return r.Client.Resource(mapping.Resource), nil
	}
	if namespace == "" {
		namespace = r.Namespace
	}
	return r.Client.Resource(mapping.Resource).Namespace(namespace), nil
}

// parse reads Kind.version.group/name and Kind.version.group/namespace/name; kinds of the core group have no group.
func parse(text string) (gvk kschema.GroupVersionKind, namespace, name string) {
	kind, rest, _ := strings.Cut(text, "/")
	gvk.Kind, kind, _ = strings.Cut(kind, ".")
	gvk.Version, gvk.Group, _ = strings.Cut(kind, ".")
	if before, after, both := strings.Cut(rest, "/"); both {
		return gvk, before, after
	}
	return gvk, "", rest
}

// until tries again and again, at least once, and gives the last error when the time is up.
func until(ctx context.Context, within time.Duration, check func() error) error {
	for end := time.Now().Add(within); ; {
		err := check()
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
	}
}
