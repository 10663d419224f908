package graph

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/test/cluster"
)

func TestNamespaceDecorator(t *testing.T) {
	b := newBench(t)
	decorated, later := b.Namespace(t), b.Namespace(t)
	label := func(ns, value string) {
		b.apply("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + ns + "\n  labels: {" + value + "}")
	}
	label(decorated, `netpol: "on"`)
	b.example("namespace-decorator.yaml")
	b.converged("namespace-decorator")
	b.get(policies, decorated, "default-deny")

	label(later, `netpol: "on"`)
	b.eventually(policies, later, "default-deny", field("kro", "metadata", "labels", "app.kubernetes.io/managed-by"))
	label(decorated, "")
	b.gone(policies, decorated, "default-deny")

	b.delete(graphs, b.ns, "namespace-decorator")
	b.gone(graphs, b.ns, "namespace-decorator")
	b.gone(policies, later, "default-deny")
}

func TestIngressFanIn(t *testing.T) {
	b := newBench(t)
	service := func(name string) {
		b.apply(fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  labels: {expose: \"yes\"}\n  annotations: {example.com/path: /%s}\nspec:\n  ports: [{port: 80}]", name, name))
	}
	paths := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
			var got []string
			for _, rule := range rules {
				list, _, _ := unstructured.NestedSlice(rule.(map[string]any), "http", "paths")
				for _, p := range list {
					got = append(got, fmt.Sprint(p.(map[string]any)["path"]))
				}
			}
			if text := strings.Join(got, " "); text != want {
				return fmt.Errorf("paths are %q, want %q", text, want)
			}
			return nil
		}
	}
	b.example("ingress-fanin.yaml")
	b.converged("ingress-fanin")
	service("a")
	b.eventually(ingresses, b.ns, "fanin", paths("/a"))
	service("b")
	b.eventually(ingresses, b.ns, "fanin", paths("/a /b"))
	b.delete(services, b.ns, "a")
	b.eventually(ingresses, b.ns, "fanin", paths("/b"))
	b.delete(services, b.ns, "b")
	b.gone(ingresses, b.ns, "fanin")
}

func TestCoreDNS(t *testing.T) {
	b := newBench(t)
	b.example("coredns.yaml")
	b.converged("coredns")
	uid := b.get(deployments, b.ns, "coredns").GetUID()

	drifted := b.get(configMaps, b.ns, "coredns")
	drifted.Object["data"] = map[string]any{"Corefile": "changed by hand"}
	if err := b.Client.Update(t.Context(), drifted); err != nil {
		t.Fatal(err)
	}
	b.eventually(configMaps, b.ns, "coredns", func(o *unstructured.Unstructured) error {
		if text, _, _ := unstructured.NestedString(o.Object, "data", "Corefile"); !strings.HasPrefix(text, ".:53 {") {
			return fmt.Errorf("the Corefile is %q", text)
		}
		return nil
	})
	if got := b.get(deployments, b.ns, "coredns").GetUID(); got != uid {
		t.Errorf("the Deployment was made anew: %s, before %s", got, uid)
	}
	b.delete(graphs, b.ns, "coredns")
	b.gone(graphs, b.ns, "coredns")
	b.gone(deployments, b.ns, "coredns")
	b.gone(services, b.ns, "coredns")
	b.gone(configMaps, b.ns, "coredns")
	b.gone(accounts, b.ns, "coredns")
}

func TestSingleton(t *testing.T) {
	b := newBench(t)
	claim := func(team string, priority int) {
		b.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  labels: {claim: shared-cache}\ndata: {priority: %q, size: of-%s}", team, fmt.Sprint(priority), team))
	}
	b.example("singleton.yaml")
	b.converged("singleton")
	claim("blue", 1)
	b.eventually(configMaps, b.ns, "shared-cache", field("blue", "data", "owner"))
	uid := b.get(configMaps, b.ns, "shared-cache").GetUID()
	claim("red", 5)
	b.eventually(configMaps, b.ns, "shared-cache", field("of-red", "data", "size"))
	b.delete(configMaps, b.ns, "red")
	b.eventually(configMaps, b.ns, "shared-cache", field("blue", "data", "owner"))
	if got := b.get(configMaps, b.ns, "shared-cache").GetUID(); got != uid {
		t.Error("the one object was made anew when its owner changed")
	}
	b.delete(configMaps, b.ns, "blue")
	b.gone(configMaps, b.ns, "shared-cache")
}

func TestStatusContribution(t *testing.T) {
	b := newBench(t)
	b.example("status-contribution.yaml")
	b.condition("status-contribution", "ResourcesConverged", "False", "DataPending")
	b.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: audit}\ndata: {passed: \"true\", note: fine}")
	b.condition("status-contribution", "ResourcesConverged", "False", "DataPending") // the Deployment is not there: a patch creates nothing
	b.apply(`apiVersion: apps/v1
kind: Deployment
metadata: {name: audited}
spec:
  replicas: 0
  selector: {matchLabels: {app: audited}}
  template:
    metadata: {labels: {app: audited}}
    spec: {containers: [{name: a, image: a}]}`)
	audited := func(want bool) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			err := cluster.Condition(o, "example.com/Audited", "True")
			_, labelled := o.GetLabels()["example.com/audited"]
			if (err == nil) != want || labelled != want {
				return fmt.Errorf("labelled %t, condition: %v, want %t", labelled, err, want)
			}
			return nil
		}
	}
	b.eventually(deployments, b.ns, "audited", audited(true))
	b.converged("status-contribution")
	uid := b.get(deployments, b.ns, "audited").GetUID()
	b.delete(graphs, b.ns, "status-contribution")
	b.gone(graphs, b.ns, "status-contribution")
	b.eventually(deployments, b.ns, "audited", audited(false))
	if b.get(deployments, b.ns, "audited").GetUID() != uid {
		t.Error("the Deployment of somebody else was made anew")
	}
}

func TestStampedGraphs(t *testing.T) {
	b := newBench(t)
	b.example("stamped.yaml")
	b.converged("teams")
	b.eventually(configMaps, b.ns, "team-red-greeting", field("hello red", "data", "text"))
	b.eventually(configMaps, b.ns, "team-blue-greeting", field("hello blue", "data", "text"))
	b.delete(graphs, b.ns, "teams")
	b.gone(graphs, b.ns, "teams")
	b.gone(graphs, b.ns, "team-red")
	b.gone(configMaps, b.ns, "team-red-greeting")
}
