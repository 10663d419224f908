package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// life is one run of a story: the owner is made, edited and deleted.
type life struct {
	story
	t          *testing.T
	cluster    *cluster.Cluster
	proxy      *proxy
	controller *cluster.Controller
	namespace  string
}

// until waits, and brings a killed controller back.
func (l *life) until(what string, check func(context.Context) error) {
	l.t.Helper()
	cluster.Eventually(l.t, what, func(ctx context.Context) error {
		if l.proxy.wasKilled() {
			l.controller.Start()
		}
		return check(ctx)
	})
}

func (l *life) apply(text string) {
	l.t.Helper()
	l.cluster.Apply(l.t, cluster.Object(l.t, strings.ReplaceAll(text, "NS", l.namespace)))
}

// ready tells that the owner has come to rest in a generation.
func (l *life) ready(generation int64) func(context.Context) error {
	return func(ctx context.Context) error {
		o, err := l.cluster.Get(ctx, l.owner, l.namespace, "one")
		if err != nil {
			return err
		}
		state, hasState, _ := unstructured.NestedString(o.Object, "status", "state")
		observed, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range observed {
			m := c.(map[string]any)
			if m["type"] == "Ready" && m["observedGeneration"] == generation && m["status"] == "True" && (state == "ACTIVE" || !hasState) {
				return nil
			}
		}
		return fmt.Errorf("state %q, conditions %v", state, observed)
	}
}

// kinds are those of the objects in the stories.
var kinds = []kschema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, {Group: "kro.run", Version: "v1alpha1", Kind: "Graph"},
}

// objects are what stands in the namespace, and in the cluster for it: what is kro's, and what is not, as far as it does not depend on the run.
func (l *life) objects(ctx context.Context) (owned, others map[string]any, err error) {
	owned, others = map[string]any{}, map[string]any{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := l.cluster.Client.List(ctx, list); err != nil {
			return nil, nil, err
		}
		for _, o := range list.Items {
			isOwned := o.GetLabels()["kro.run/owned"] == "true"
			switch {
			case o.GetNamespace() != l.namespace && o.GetName() != l.namespace+"-wide",
				!isOwned && (o.GetName() == "kube-root-ca.crt" || o.GetName() == "one" && kind == l.owner):
			case isOwned:
				owned[kind.Kind+" "+o.GetName()] = l.steady(o)
			default:
				others[kind.Kind+" "+o.GetName()] = l.steady(o)
			}
		}
	}
	return owned, others, nil
}

// steady is an object without what is different in every run.
func (l *life) steady(o unstructured.Unstructured) map[string]any {
	labels := maps.Clone(o.GetLabels())
	for _, k := range []string{"kro.run/instance-id", "kro.run/instance-namespace", "applyset.kubernetes.io/part-of", "pool"} {
		delete(labels, k)
	}
	out := map[string]any{"labels": labels, "annotations": o.GetAnnotations(), "contributed": contributed(o)}
	for _, part := range []string{"data", "rules"} {
		out[part] = o.Object[part]
	}
	switch o.GetKind() {
	case "Graph":
		out["spec"], out["ready"] = o.Object["spec"], cluster.Condition(&o, "Ready", "True") == nil
	case "Service":
		out["status"] = o.Object["status"]
	}
	return out
}

// contributed are the fields that patches hold on an object.
func contributed(o unstructured.Unstructured) []string {
	var out []string
	for _, e := range o.GetManagedFields() {
		if strings.HasPrefix(e.Manager, "kro-graphengine.patch.") && e.FieldsV1 != nil {
			out = append(out, e.Subresource+string(e.FieldsV1.GetRawBytes()))
		}
	}
	slices.Sort(out)
	return out
}

// status is what the owner says of itself at the height, as far as it does not depend on the run.
func (l *life) status(ctx context.Context) (map[string]any, error) {
	o, err := l.cluster.Get(ctx, l.owner, l.namespace, "one")
	if err != nil {
		return nil, err
	}
	status, _ := o.Object["status"].(map[string]any)
	steady := map[string]any{}
	for name, value := range status {
		switch name {
		case "conditions", "lastIssuedRevision", "appliedRevision", "appliedServiceAccount", "contributions", "nodes", "graph":
		case "managedResources":
			var names []any
			for _, entry := range value.([]any) {
				m := entry.(map[string]any)
				names = append(names, fmt.Sprint(m["nodeID"], " ", m["kind"], " ", m["name"], " ", m["uid"] != nil))
			}
			steady[name] = names
		default:
			steady[name] = value
		}
	}
	return steady, nil
}

// height waits until all is as the second state of the owner wants it, and returns it.
func (l *life) height() (height string) {
	l.t.Helper()
	l.until("what is not wanted is gone", func(ctx context.Context) error {
		owned, others, err := l.objects(ctx)
		if err != nil {
			return err
		}
		mine := maps.Clone(owned)
		delete(mine, "ConfigMap one-leaf") // the stamped Graph's
		if len(mine) != l.owned {
			return fmt.Errorf("%d objects, want %d: %v", len(mine), l.owned, slices.Sorted(maps.Keys(mine)))
		}
		if data := dataOf(others["ConfigMap other"]); strings.Contains(data, "once") {
			return fmt.Errorf("a contribution that is not wanted: %v", data)
		}
		if data := dataOf(owned["ConfigMap one-leaf"]); l.owner.Kind == "Graph" && data != "map[v:2]" {
			return fmt.Errorf("the stamped Graph has %s", data)
		}
		status, err := l.status(ctx)
		if err != nil {
			return err
		}
		if managed, is := status["managedResources"].([]any); is && len(managed) != l.owned {
			return fmt.Errorf("the status names %v", managed)
		}
		text, err := json.MarshalIndent(map[string]any{"owned": owned, "others": others, "status": status}, "", " ")
		height = strings.ReplaceAll(string(text), l.namespace, "NS")
		return err
	})
	return height
}

// dataOf are the data of one of the objects, as text; those of an object that is not there are empty.
func dataOf(object any) string {
	fields, _ := object.(map[string]any)
	return fmt.Sprint(fields["data"])
}

// run lives one life, and returns what stood at its height, what it left, and how many requests it took.
func (l *life) run(n int, f fault) (height, rest string, requests int) {
	l.t.Helper()
	l.namespace = l.cluster.Namespace(l.t)
	for _, o := range l.others {
		l.apply(o)
	}
	l.proxy.arm(n, f)
	l.apply(l.first)
	l.until("the owner is ready", l.ready(1))
	if kind, name, patch := l.between[0], l.between[1], l.between[2]; kind != "" {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kschema.GroupVersionKind{Version: "v1", Kind: kind})
		o.SetNamespace(l.namespace)
		o.SetName(name)
		if err := l.cluster.Client.Patch(l.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody")); err != nil {
			l.t.Fatal(err)
		}
	}
	l.apply(l.second)
	l.until("the edited owner is ready", l.ready(2))
	height = l.height()

	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(l.owner)
	owner.SetNamespace(l.namespace)
	owner.SetName("one")
	if err := l.cluster.Client.Delete(l.t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		l.t.Fatal(err)
	}
	l.until("the owner is gone", func(ctx context.Context) error { return l.cluster.Gone(ctx, l.owner, l.namespace, "one") })
	l.until("nothing is left behind", func(ctx context.Context) error {
		owned, others, err := l.objects(ctx)
		if err == nil && len(owned) > 0 {
			err = fmt.Errorf("left behind: %v", slices.Sorted(maps.Keys(owned)))
		}
		text, _ := json.MarshalIndent(others, "", " ")
		rest = strings.ReplaceAll(string(text), l.namespace, "NS")
		return err
	})
	requests = l.proxy.count()
	l.proxy.arm(0, none)
	return height, rest, requests
}

// expectRest holds what is left against what was there before.
func (l *life) expectRest(rest string) {
	l.t.Helper()
	for _, trace := range []string{"kro.run/", "kro-graphengine", "from-one", "Seen", "once"} {
		if strings.Contains(rest, trace) {
			l.t.Errorf("what is left holds %q:\n%s", trace, rest)
		}
	}
	if l.kept != "" && !strings.Contains(rest, "ConfigMap "+l.kept) {
		l.t.Errorf("%s should have stayed:\n%s", l.kept, rest)
	}
}

func TestFaultAtAnyRequestChangesNothingInTheEnd(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { s.live(t) })
	}
}

// faultsOf are the faults of the n-th request: one that the controller survives and one that it does not, or with FAULTS=all every one.
func faultsOf(n int) []fault {
	switch {
	case os.Getenv("FAULTS") == "all":
		return []fault{refuse, lose, killBefore, killAfter}
	case n%2 == 0:
		return []fault{refuse, killAfter}
	}
	return []fault{lose, killBefore}
}

// live lives a story undisturbed, and then with each fault at each of its requests.
func (s story) live(t *testing.T) {
	c := cluster.Of(t)
	p := newProxy(t, c.Config)
	k := c.Kro(t, "--kubeconfig="+p.kubeconfig(t))
	p.kill = k.Kill
	if s.definition != "" {
		c.Apply(t, cluster.Object(t, s.definition))
	}
	l := &life{story: s, t: t, cluster: c, proxy: p, controller: k}
	want, rest, requests := l.run(0, none)
	l.expectRest(rest)
	t.Logf("an undisturbed life takes %d requests", requests)
	for n := 1; n <= requests; n++ {
		for _, f := range faultsOf(n) {
			t.Run(fmt.Sprintf("%s %d", f, n), func(t *testing.T) {
				l.t = t
				got, left, _ := l.run(n, f)
				if got != want {
					t.Errorf("what stands at the height differs from an undisturbed life (-want +got):\n%s", cmp.Diff(want, got))
				}
				if left != rest {
					t.Errorf("what is left differs from an undisturbed life (-want +got):\n%s", cmp.Diff(rest, left))
				}
			})
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}
