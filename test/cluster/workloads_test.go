package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// What the simulator promises: without nodes, what users put on a cluster comes
// to rest as it would with them.
func TestWorkloadsComeToRest(t *testing.T) {
	c := Of(t)
	ns := c.Namespace(t)
	for _, tc := range []struct {
		reason string
		object string
		rests  func(*unstructured.Unstructured) error
	}{
		{"a Deployment is available once its Pods are Ready", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
`, condition("Available")},
		{"a Job completes", `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  completions: 2
  template:
    spec: {restartPolicy: Never, containers: [{name: job, image: job}]}
`, condition("Complete")},
		{"a StatefulSet goes on once a volume is bound and a Pod is Ready", `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
`, field(int64(2), "status", "readyReplicas")},
		{"a claim is bound, whatever its class", `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
`, field("Bound", "status", "phase")},
		{"a load balancer has a name", `
apiVersion: v1
kind: Service
metadata: {name: balanced}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
`, balanced("balanced." + ns + ".simulated.test")},
		{"an Ingress has a name", `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: outside}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
`, balanced("outside." + ns + ".simulated.test")},
	} {
		object := Object(t, tc.object)
		object.SetNamespace(ns)
		c.Apply(t, object)
		Eventually(t, tc.reason, func(ctx context.Context) error {
			got, err := c.Get(ctx, object.GroupVersionKind(), ns, object.GetName())
			if err != nil {
				return err
			}
			return tc.rests(got)
		})
	}

	t.Run("PodsSayThatTheyAreSimulated", func(t *testing.T) {
		var pods corev1.PodList
		if err := c.Client.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{"app": "web"}); err != nil {
			t.Fatal(err)
		}
		if len(pods.Items) == 0 {
			t.Fatal("the Deployment has no Pods")
		}
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Reason != "Simulated" {
					t.Errorf("Pod %s is Ready for the reason %q", pod.Name, condition.Reason)
				}
			}
		}
	})
	t.Run("DeletionTakesThePodsAlong", func(t *testing.T) {
		foreground := client.PropagationPolicy("Foreground")
		web := &appsv1.Deployment{}
		web.Namespace, web.Name = ns, "web"
		if err := c.Client.Delete(t.Context(), web, foreground); err != nil {
			t.Fatal(err)
		}
		Eventually(t, "the Deployment and its Pods are gone", func(ctx context.Context) error {
			if err := c.Client.Get(ctx, client.ObjectKeyFromObject(web), web); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the Deployment is still there: %w", err)
			}
			var pods corev1.PodList
			if err := c.Client.List(ctx, &pods, client.InNamespace(ns), client.MatchingLabels{"app": "web"}); err != nil {
				return err
			}
			if len(pods.Items) > 0 {
				return fmt.Errorf("%d Pods are still there", len(pods.Items))
			}
			return nil
		})
	})
	t.Run("VolumesGoWithTheirClaims", func(t *testing.T) {
		claim := &corev1.PersistentVolumeClaim{}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "claim"}, claim); err != nil {
			t.Fatal(err)
		}
		if err := c.Client.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		Eventually(t, "the volume is gone", func(ctx context.Context) error {
			return c.Gone(ctx, kschema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}, "", claim.Spec.VolumeName)
		})
	})
}

func condition(kind string) func(*unstructured.Unstructured) error {
	return func(object *unstructured.Unstructured) error { return Condition(object, kind, "True") }
}

func field(want any, path ...string) func(*unstructured.Unstructured) error {
	return func(object *unstructured.Unstructured) error {
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		if err == nil && got != want {
			err = fmt.Errorf("%v is %v, not yet %v", path, got, want)
		}
		return err
	}
}

func balanced(hostname string) func(*unstructured.Unstructured) error {
	return func(object *unstructured.Unstructured) error {
		entries, _, err := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
		if err != nil {
			return err
		}
		if len(entries) != 1 {
			return fmt.Errorf("it has %d addresses", len(entries))
		}
		if entry, ok := entries[0].(map[string]any); !ok || entry["hostname"] != hostname || entry["ip"] == "" {
			return Never(errors.New("its address is " + fmt.Sprint(entries[0])))
		}
		return nil
	}
}
