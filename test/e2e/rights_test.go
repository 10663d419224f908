package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

const rightsDefinition = `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: rights}
spec:
  schema: {apiVersion: v1alpha1, kind: Entitled, group: rights.example.com}
  resources:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {a: b}}
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${config.metadata.name}"}, stringData: {a: b}}
`

const rightsGrant = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: rights-test
  labels: {rbac.kro.run/aggregate-to-controller: "true"}
rules:
- {apiGroups: [rights.example.com], resources: [entitleds, entitleds/status], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update, patch, delete]}
`

// kro runs with the rights of config/rbac. What it lacks for the kinds of a definition it says, and goes on when it is given it, without a restart.
func TestRightsOfTheController(t *testing.T) {
	c := cluster.Of(t)
	ctx := t.Context()
	if err := c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kro-system"}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"controller.yaml", "users.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			c.Apply(t, cluster.Object(t, document))
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "kro", Namespace: "kro-system"}}
	c.Kro(t, "--kubeconfig="+kubeconfigOf(t, c, account), "--leader-elect", "--leader-election-namespace=kro-system",
		"--controller-namespace=kro-system", "--controller-service-account=kro")
	ns := c.Namespace(t)
	kind := kschema.GroupVersionKind{Group: "rights.example.com", Version: "v1alpha1", Kind: "Entitled"}

	told := func(words ...string) {
		t.Helper()
		cluster.Eventually(t, "the definition says what kro may not do", func(ctx context.Context) error {
			rgd, err := c.Get(ctx, definitionKind, "", "rights")
			if err != nil {
				return err
			}
			for _, want := range append(words, "system:serviceaccount:kro-system:kro", "list", `"entitleds"`, `"rights.example.com"`) {
				if text := fmt.Sprint(rgd.Object["status"]); !strings.Contains(text, want) {
					return fmt.Errorf("%q is not in its status: %s", want, text)
				}
			}
			return nil
		})
	}
	grant := cluster.Object(t, rightsGrant)
	t.Cleanup(func() { _ = c.Client.Delete(context.Background(), grant) })
	define(t, c, rightsDefinition)
	told("ControllerReady")
	c.Apply(t, grant)
	state(t, c, definitionKind, "", "rights", "Active")
	one := instance(t, c, ns, kind, "rights")
	state(t, c, kind, ns, "rights", "ACTIVE")
	remove(t, c, one)

	// A definition that cannot go for want of a right says so, too.
	if err := c.Client.Delete(t.Context(), grant.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the right is gone", func(ctx context.Context) error {
		role, err := c.Get(ctx, kschema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, "", "kro:controller")
		if err == nil && strings.Contains(fmt.Sprint(role.Object["rules"]), "entitleds") {
			err = errors.New("it is still there")
		}
		return err
	})
	if err := c.Client.Delete(t.Context(), cluster.Object(t, rightsDefinition)); err != nil {
		t.Fatal(err)
	}
	told("DeletionBlocked")
	c.Apply(t, grant)
}
