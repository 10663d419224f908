package e2e

import (
	"context"
	"fmt"
	"maps"

	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

var crdKind = kschema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// A restart writes nothing where nothing happened, and makes good what happened in the meantime: edits and deletions of definitions, instances,
// children and CRDs.
func TestWhatHappenedWhileItWasDown(t *testing.T) {
	c := cluster.Of(t)
	kro := c.Kro(t)
	ns := c.Namespace(t)
	kind := func(name string) kschema.GroupVersionKind {
		return kschema.GroupVersionKind{Group: name + ".example.com", Version: "v1alpha1", Kind: "Good"}
	}
	for _, name := range []string{"calm", "edited", "undone"} {
		define(t, c, fill(goodDefinition, name))
	}
	for _, name := range []string{"calm", "drifted", "orphaned", "changed", "leaving"} {
		instance(t, c, ns, kind("calm"), name)
		state(t, c, kind("calm"), ns, name, "ACTIVE")
	}
	instance(t, c, ns, kind("edited"), "edited")
	state(t, c, kind("edited"), ns, "edited", "ACTIVE")
	state(t, c, definitionKind, "", "undone", "Active")
	untouched := func() map[string]string {
		out := map[string]string{}
		for _, o := range []struct {
			kind     kschema.GroupVersionKind
			ns, name string
		}{
			{definitionKind, "", "calm"}, {revisionKind, "", "calm-r00001"}, {crdKind, "", "goods.calm.example.com"},
			{kind("calm"), ns, "calm"}, {configMapKind, ns, "calm-first"}, {configMapKind, ns, "calm-second"}, {configMapKind, ns, "drifted-second"},
		} {
			object, err := c.Get(t.Context(), o.kind, o.ns, o.name)
			if err != nil {
				t.Fatal(err)
			}
			out[o.kind.Kind+" "+o.name] = object.GetResourceVersion()
		}
		return out
	}
	before := untouched()

	kro.Stop()
	get := func(gvk kschema.GroupVersionKind, namespace, name string) client.Object {
		object, err := c.Get(t.Context(), gvk, namespace, name)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	drop := func(object client.Object) {
		if err := c.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	first, err := c.Get(t.Context(), configMapKind, ns, "drifted-first")
	if err != nil {
		t.Fatal(err)
	}
	merge(t, c, first, `{"data":{"word":"drift"}}`)
	drop(get(configMapKind, ns, "orphaned-first"))
	changed, err := c.Get(t.Context(), kind("calm"), ns, "changed")
	if err != nil {
		t.Fatal(err)
	}
	merge(t, c, changed, `{"spec":{"word":"new"}}`)
	drop(get(kind("calm"), ns, "leaving"))
	edited, err := c.Get(t.Context(), definitionKind, "", "edited")
	if err != nil {
		t.Fatal(err)
	}
	merge(t, c, edited, `{"spec":{"resources":[{"id":"first","template":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${schema.metadata.name}-third"},"data":{"word":"third"}}}]}}`)
	drop(get(crdKind, "", "goods.undone.example.com"))

	kro.Start()
	awaitWord(t, c, ns, "drifted-first", "first")
	awaitWord(t, c, ns, "orphaned-first", "first")
	awaitWord(t, c, ns, "changed-second", "new")
	awaitWord(t, c, ns, "edited-third", "third")
	for _, gone := range []struct {
		kind kschema.GroupVersionKind
		name string
	}{{kind("calm"), "leaving"}, {configMapKind, "leaving-first"}, {configMapKind, "edited-first"}, {configMapKind, "edited-second"}} {
		cluster.Eventually(t, gone.name+" is gone", func(ctx context.Context) error { return c.Gone(ctx, gone.kind, ns, gone.name) })
	}
	cluster.Eventually(t, "the CRD is back", func(ctx context.Context) error {
		object, err := c.Get(ctx, crdKind, "", "goods.undone.example.com")
		if err != nil {
			return err
		}
		return cluster.Condition(object, "Established", "True")
	})
	state(t, c, definitionKind, "", "undone", "Active")
	state(t, c, kind("edited"), ns, "edited", "ACTIVE")
	if after := untouched(); !maps.Equal(before, after) {
		t.Errorf("a restart wrote where nothing had happened: %v, before %v", after, before)
	}
}

// --allow-crd-deletion takes the CRD along, but not before the last instance has gone.
func TestCRDGoesWithItsDefinition(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t, "--allow-crd-deletion")
	ns := c.Namespace(t)
	kind := kschema.GroupVersionKind{Group: "goner.example.com", Version: "v1alpha1", Kind: "Good"}
	define(t, c, fill(goodDefinition, "goner"))
	state(t, c, definitionKind, "", "goner", "Active")
	one := instance(t, c, ns, kind, "one")
	state(t, c, kind, ns, "one", "ACTIVE")
	rgd, err := c.Get(t.Context(), definitionKind, "", "goner")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Delete(t.Context(), rgd); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the definition says what it waits for", func(ctx context.Context) error {
		rgd, err := c.Get(ctx, definitionKind, "", "goner")
		if err != nil {
			return cluster.Never(err)
		}
		if text := message(rgd, "Ready"); text != "1 instance of Good left; the definition goes on serving until they are deleted" {
			return fmt.Errorf("it says %q", text)
		}
		return nil
	})
	merge(t, c, one, `{"spec":{"word":"served"}}`)
	awaitWord(t, c, ns, "one-second", "served")
	if err := c.Client.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]kschema.GroupVersionKind{"goner": definitionKind, "goods.goner.example.com": crdKind} {
		cluster.Eventually(t, name+" is gone", func(ctx context.Context) error { return c.Gone(ctx, kind, "", name) })
	}
}

// The rights that the aggregated role of 0.9 gives, which know nothing of Graphs, are enough; a kind without a role of its own is told where it is
// used, harms no other, and is served as soon as the role is there.
func TestAggregatedRights(t *testing.T) {
	c := cluster.Of(t)
	ns := c.Namespace(t)
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"kro.run"}, Resources: []string{"resourcegraphdefinitions"}, Verbs: all},
		{APIGroups: []string{"kro.run"}, Resources: []string{"resourcegraphdefinitions/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{"kro.run"}, Resources: []string{"resourcegraphdefinitions/status"}, Verbs: []string{"get", "patch", "update"}},
		{APIGroups: []string{"internal.kro.run"}, Resources: []string{"graphrevisions"}, Verbs: all},
		{APIGroups: []string{"internal.kro.run"}, Resources: []string{"graphrevisions/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{"internal.kro.run"}, Resources: []string{"graphrevisions/status"}, Verbs: []string{"get", "patch", "update"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: all},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: []string{"narrow.example.com"}, Resources: []string{"goods", "goods/status"}, Verbs: all},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "kro", Namespace: ns}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "narrow-kro"}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "narrow-kro"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: ns}},
	}
	for _, object := range []client.Object{account, role, binding} {
		if err := c.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Client.Delete(context.Background(), object) })
	}
	c.Kro(t, "--kubeconfig="+kubeconfigOf(t, c, account), "--leader-elect", "--leader-election-namespace="+ns)

	kind := func(group string) kschema.GroupVersionKind {
		return kschema.GroupVersionKind{Group: group + ".example.com", Version: "v1alpha1", Kind: "Good"}
	}
	define(t, c, fill(goodDefinition, "forbidden"))
	define(t, c, fill(goodDefinition, "narrow"))
	instance(t, c, ns, kind("narrow"), "one")
	state(t, c, kind("narrow"), ns, "one", "ACTIVE")
	cluster.Eventually(t, "the definition says which right it lacks", func(ctx context.Context) error {
		rgd, err := c.Get(ctx, definitionKind, "", "forbidden")
		if err != nil {
			return err
		}
		if err := cluster.Condition(rgd, "ControllerReady", "False"); err != nil {
			return err
		}
		return cluster.Condition(rgd, "KindReady", "True")
	})
	grant := func(rule rbacv1.PolicyRule) {
		role.Rules = append(role.Rules, rule)
		if err := c.Client.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
	grant(rbacv1.PolicyRule{APIGroups: []string{"forbidden.example.com"}, Resources: []string{"*"}, Verbs: all})
	instance(t, c, ns, kind("forbidden"), "two")
	state(t, c, kind("forbidden"), ns, "two", "ACTIVE")
	state(t, c, definitionKind, "", "forbidden", "Active")

	// A kind of children without a role.
	define(t, c, `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: secretive}
spec:
  schema: {apiVersion: v1alpha1, kind: Secretive, group: narrow.example.com, spec: {word: string}}
  resources:
  - {id: open, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-open"}, data: {word: open}}}
  - {id: shut, template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}-shut"}, stringData: {word: shut}}}
`)
	grant(rbacv1.PolicyRule{APIGroups: []string{"narrow.example.com"}, Resources: []string{"secretives", "secretives/status"}, Verbs: all})
	secretive := kschema.GroupVersionKind{Group: "narrow.example.com", Version: "v1alpha1", Kind: "Secretive"}
	instance(t, c, ns, secretive, "three")
	blocked := state(t, c, secretive, ns, "three", "ERROR")
	if text := message(blocked, "ResourcesReady"); !strings.Contains(text, "secrets") || !strings.Contains(text, "forbidden") {
		t.Errorf("the condition does not say which right is missing: %s", text)
	}
	awaitWord(t, c, ns, "three-open", "open")
	grant(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all})
	state(t, c, secretive, ns, "three", "ACTIVE")
}

// kubeconfigOf writes a kubeconfig that acts as a ServiceAccount.
func kubeconfigOf(t *testing.T, c *cluster.Cluster, account *corev1.ServiceAccount) string {
	t.Helper()
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(time.Hour.Seconds()))}}
	if err := c.Client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		*user = *clientcmdapi.NewAuthInfo()
		user.Token = token.Status.Token
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
