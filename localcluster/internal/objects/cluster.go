package objects

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	sigsyaml "sigs.k8s.io/yaml"
)

const fieldManager = "localcluster"

// Cluster is a connection to an API server.
type Cluster struct {
	client    dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// Connect opens the cluster of a kubeconfig file.
func Connect(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS = -1                           // loopback: the server sets the pace
	config.WarningHandler = rest.NoWarnings{} // of deprecated kinds, which are listed with all others
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(found)
	return &Cluster{client: client, discovery: cached, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cached)}, nil
}

// Read gives the objects of a YAML file, or of all YAML files of a folder in the
// order of their names.
func Read(path string) ([]*unstructured.Unstructured, error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			return nil, err
		}
		slices.Sort(files)
		if len(files) == 0 {
			return nil, fmt.Errorf("%s holds no *.yaml file", path)
		}
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

func parse(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := sigsyaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		if string(bytes.TrimSpace(text)) == "null" { // comments only
			continue
		}
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// Name tells an object to a user.
func Name(object *unstructured.Unstructured) string {
	name := object.GetName()
	if ns := object.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return object.GetKind() + " " + name
}

// resource finds where objects of the kind of this one live. A kind that is not
// served yet is looked for anew each time.
func (c *Cluster) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.client.Resource(mapping.Resource), nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return c.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// Apply brings one object onto the cluster. It tries until the kind is served
// or the time is up.
func (c *Cluster) Apply(ctx context.Context, object *unstructured.Unstructured, within time.Duration) error {
	return c.retry(ctx, within, "apply "+Name(object), func(ctx context.Context) error {
		resource, err := c.resource(object)
		if err != nil {
			return err
		}
		_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
}

// Provide brings an object onto the cluster unless it is there, however it is:
// what a user has changed since stays changed. It reports whether it was missing.
func (c *Cluster) Provide(ctx context.Context, object *unstructured.Unstructured, within time.Duration) (missing bool, err error) {
	err = c.retry(ctx, within, "look for "+Name(object), func(ctx context.Context) error {
		resource, err := c.resource(object)
		if err != nil {
			return err
		}
		_, err = resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		missing = apierrors.IsNotFound(err)
		if missing {
			return nil
		}
		return err
	})
	if err != nil || !missing {
		return false, err
	}
	return true, c.Apply(ctx, object, within)
}

// Await waits until a condition of the object is True and gives the object as
// it is then. In failure the error says how the conditions stand.
func (c *Cluster) Await(ctx context.Context, object *unstructured.Unstructured, condition string, within time.Duration) (*unstructured.Unstructured, error) {
	var seen *unstructured.Unstructured
	err := c.retry(ctx, within, fmt.Sprintf("wait until %s is %s", Name(object), condition), func(ctx context.Context) error {
		resource, err := c.resource(object)
		if err != nil {
			return err
		}
		if seen, err = resource.Get(ctx, object.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		conditions := conditionsOf(seen)
		for _, found := range conditions {
			if found.Type == condition && found.Status == metav1.ConditionTrue && found.ObservedGeneration >= generationOf(found, seen) {
				return nil
			}
		}
		return fmt.Errorf("%s", describe(conditions))
	})
	return seen, err
}

// generationOf is what the condition must have seen: it holds for the present
// spec when it names no generation or this one.
func generationOf(c condition, object *unstructured.Unstructured) int64 {
	if c.ObservedGeneration == 0 {
		return 0
	}
	return object.GetGeneration()
}

// retry tries every tenth of a second, unless the server refuses for a reason
// that time does not change. Its error names what was attempted and
// the last failure that was not merely the end of the time.
func (c *Cluster) retry(ctx context.Context, within time.Duration, what string, try func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := try(limited)
		if err == nil {
			return nil
		}
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if limited.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("%s (%s): %w", what, within, last)
		case <-tick.C:
		}
	}
}
