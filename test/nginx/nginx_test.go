// Package nginx holds examples/nginx to what its page promises, with the real
// binary on a real API server: from the definition to the objects, through every
// change a user makes, to the end of the last one.
package nginx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

const definition = "reviewed-nginxapps"

var (
	definitionKind = kschema.GroupVersionKind{Group: "kro.run", Version: "v1alpha1", Kind: "ResourceGraphDefinition"}
	revisionKind   = kschema.GroupVersionKind{Group: "internal.kro.run", Version: "v1alpha1", Kind: "GraphRevision"}
	appKind        = kschema.GroupVersionKind{Group: "platform.example.com", Version: "v1alpha1", Kind: "NginxApp"}
	deploymentKind = kschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	serviceKind    = kschema.GroupVersionKind{Version: "v1", Kind: "Service"}
	ingressKind    = kschema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// app is one NginxApp in a namespace of its own, and what to do with it.
type app struct {
	*cluster.Cluster
	ns string
}

func TestLifeOfAnApp(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t)
	define(t, c)
	a := app{c, c.Namespace(t)}

	t.Run("DefinitionIsActive", func(t *testing.T) {
		rgd, err := c.Get(t.Context(), definitionKind, "", definition)
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, err := unstructured.NestedSlice(rgd.Object, "status", "conditions")
		if err != nil || len(conditions) == 0 {
			t.Fatalf("no conditions: %v", err)
		}
		for _, entry := range conditions {
			if fields, ok := entry.(map[string]any); !ok || fields["status"] != "True" {
				t.Errorf("a condition of an Active definition is not True: %v", entry)
			}
		}
		if _, err := c.Get(t.Context(), revisionKind, "", definition+"-r00001"); err != nil {
			t.Errorf("the first revision: %v", err)
		}
	})

	a.create(t)
	cluster.Eventually(t, "the app is ACTIVE", a.active)

	t.Run("IngressComesAndGoes", func(t *testing.T) {
		a.merge(t, `{"spec":{"ingress":{"enabled":true}}}`)
		cluster.Eventually(t, "the Ingress is there and names the Service", func(ctx context.Context) error {
			ingress, err := c.Get(ctx, ingressKind, a.ns, "web")
			if err != nil {
				return err
			}
			if text := fmt.Sprint(ingress.Object["spec"]); !strings.Contains(text, "service:map[name:web") {
				return cluster.Never(fmt.Errorf("its backend is another: %s", text))
			}
			return nil
		})
		a.merge(t, `{"spec":{"ingress":{"enabled":false}}}`)
		cluster.Eventually(t, "the Ingress is pruned", func(ctx context.Context) error { return c.Gone(ctx, ingressKind, a.ns, "web") })
	})

	t.Run("DriftIsPutRight", func(t *testing.T) {
		service := &corev1.Service{}
		service.Namespace, service.Name = a.ns, "web"
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selector":{"app.kubernetes.io/name":"another"}}}`))
		if err := c.Client.Patch(t.Context(), service, patch); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "the Service selects the Pods again", func(ctx context.Context) error {
			if err := c.Client.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
				return err
			}
			if got := service.Spec.Selector["app.kubernetes.io/name"]; got != "nginx" {
				return fmt.Errorf("it selects those named %q", got)
			}
			return nil
		})
	})

	t.Run("TooManyReplicasAreRefused", func(t *testing.T) {
		err := c.Client.Patch(t.Context(), a.object(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":9}}`)))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.replicas") {
			t.Errorf("9 replicas where 5 are the most: %v", err)
		}
	})

	t.Run("EditOfTheDefinitionReachesTheObjects", func(t *testing.T) {
		text := string(read(t, "rgd.yaml"))
		edited := strings.Replace(text, "sizeLimit: 64Mi", "sizeLimit: 65Mi", 1)
		if edited == text {
			t.Fatal("the definition has no sizeLimit of 64Mi to edit")
		}
		c.Apply(t, cluster.Object(t, edited))
		cluster.Eventually(t, "the Deployment has the new limit", func(ctx context.Context) error {
			deployment, err := c.Get(ctx, deploymentKind, a.ns, "web")
			if err != nil {
				return err
			}
			if !strings.Contains(fmt.Sprint(deployment.Object), "sizeLimit:65Mi") {
				return errors.New("it has the old one")
			}
			return nil
		})
		if _, err := c.Get(t.Context(), revisionKind, "", definition+"-r00002"); err != nil {
			t.Errorf("the second revision: %v", err)
		}
		cluster.Eventually(t, "the app is ACTIVE again", a.active)
	})

	t.Run("DeletionGoesBackwards", func(t *testing.T) {
		a.merge(t, `{"spec":{"ingress":{"enabled":true}}}`)
		cluster.Eventually(t, "the app is ACTIVE with its Ingress", func(ctx context.Context) error {
			if _, err := c.Get(ctx, ingressKind, a.ns, "web"); err != nil {
				return err
			}
			return a.active(ctx)
		})
		a.deletedInOrder(t, ingressKind, serviceKind, deploymentKind, appKind)
	})
}

// The controller may end at any moment. Started again, it brings everything to
// where it would have been.
func TestKilledController(t *testing.T) {
	c := cluster.Of(t)
	kro := c.Kro(t)
	define(t, c)
	a := app{c, c.Namespace(t)}

	a.create(t)
	cluster.Eventually(t, "creation has begun", func(ctx context.Context) error {
		_, err := c.Get(ctx, deploymentKind, a.ns, "web")
		return err
	})
	kro.Kill()
	kro.Start()
	cluster.Eventually(t, "the app is ACTIVE", a.active)

	if err := c.Client.Delete(t.Context(), a.object()); err != nil {
		t.Fatal(err)
	}
	kro.Kill()
	kro.Start()
	for _, kind := range []kschema.GroupVersionKind{serviceKind, deploymentKind, appKind} {
		cluster.Eventually(t, kind.Kind+" is gone", func(ctx context.Context) error { return c.Gone(ctx, kind, a.ns, "web") })
	}
}

// define applies the definition and removes it, with all it serves, at the end.
func define(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	rgd := cluster.Object(t, string(read(t, "rgd.yaml")))
	c.Apply(t, rgd)
	t.Cleanup(func() {
		ctx := context.Background() // that of the test has ended
		if err := c.Client.Delete(ctx, rgd); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete the definition: %v", err)
		}
		cluster.Eventually(t, "the definition is gone, for the next test", func(ctx context.Context) error {
			return c.Gone(ctx, definitionKind, "", definition)
		})
	})
	cluster.Eventually(t, "the definition is Active", func(ctx context.Context) error {
		got, err := c.Get(ctx, definitionKind, "", definition)
		if err != nil {
			return err
		}
		return cluster.Condition(got, "Ready", "True")
	})
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "nginx", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (a app) object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(appKind)
	object.SetNamespace(a.ns)
	object.SetName("web")
	return object
}

func (a app) create(t *testing.T) {
	t.Helper()
	object := a.object()
	object.Object["spec"] = map[string]any{}
	a.Apply(t, object)
	t.Cleanup(func() {
		if err := a.Client.Delete(context.Background(), a.object()); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete the app: %v", err)
		}
	})
}

func (a app) merge(t *testing.T, patch string) {
	t.Helper()
	if err := a.Client.Patch(t.Context(), a.object(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func (a app) active(ctx context.Context) error {
	object, err := a.Get(ctx, appKind, a.ns, "web")
	if err != nil {
		return err
	}
	if state, _, _ := unstructured.NestedString(object.Object, "status", "state"); state != "ACTIVE" {
		return fmt.Errorf("it is %q: %v", state, object.Object["status"])
	}
	if available, _, _ := unstructured.NestedInt64(object.Object, "status", "availableReplicas"); available != 2 {
		return fmt.Errorf("it tells of %d available replicas, not 2", available)
	}
	return cluster.Condition(object, "Ready", "True")
}

// deletedInOrder deletes the app and looks on: as long as a kind is there, so
// must be all after it.
func (a app) deletedInOrder(t *testing.T, order ...kschema.GroupVersionKind) {
	t.Helper()
	if err := a.Client.Delete(t.Context(), a.object(), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the app is gone", func(ctx context.Context) error {
		// From the last to the first, so that one that goes meanwhile is not taken for early.
		var there []bool
		for _, kind := range slices.Backward(order) {
			_, err := a.Get(ctx, kind, a.ns, "web")
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			there = append(there, err == nil)
		}
		slices.Reverse(there)
		for i, kind := range order {
			if there[i] {
				if slices.Contains(there[i:], false) {
					return cluster.Never(fmt.Errorf("%s is still there, and of %v it is %v that are", kind.Kind, order, there))
				}
				return fmt.Errorf("%s is there", kind.Kind)
			}
		}
		return nil
	})
}
