package graph

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/test/cluster"
)

// revisions lists the revisions of a Graph by the field that kubectl would use.
func (b *bench) revisions(graph string) []internalv1alpha1.GraphRevision {
	b.t.Helper()
	list := &internalv1alpha1.GraphRevisionList{}
	err := b.Client.List(context.Background(), list, client.MatchingFields{"spec.snapshot.name": b.ns + "/" + graph})
	if err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

func (b *bench) revisionNames(graph string) (names []string) {
	b.t.Helper()
	for _, r := range b.revisions(graph) {
		names = append(names, strings.TrimPrefix(r.Name, b.ns+"."))
	}
	return names
}

// series is a line of the server's metrics that counts requests.
var series = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)

// alone waits until nobody but kro is at work: the namespaces of tests before are gone, and each that is there has the ConfigMap that all get.
func (b *bench) alone() {
	b.t.Helper()
	cluster.Eventually(b.t, "the namespaces are at rest", func(ctx context.Context) error {
		namespaces := &corev1.NamespaceList{}
		if err := b.Client.List(ctx, namespaces); err != nil {
			return err
		}
		for _, ns := range namespaces.Items {
			switch {
			case ns.DeletionTimestamp != nil && !strings.HasPrefix(ns.Name, "test-"):
				continue // of other tests; what one of them holds for ever is at rest, too
			case ns.DeletionTimestamp != nil:
				return fmt.Errorf("namespace %s is being deleted", ns.Name)
			}
			if err := b.Client.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: "kube-root-ca.crt"}, &corev1.ConfigMap{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// requests counts what the server was asked about kro's kinds and ConfigMaps, by verb, resource and subresource. With reads it counts single reads too.
// Call alone before the first count.
func (b *bench) requests(reads bool) map[string]float64 {
	b.t.Helper()
	set, err := kubernetes.NewForConfig(b.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := set.RESTClient().Get().AbsPath("/metrics").DoRaw(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	counts := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		match := series.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		labels := map[string]string{}
		for _, pair := range strings.Split(match[1], ",") {
			key, value, _ := strings.Cut(pair, "=")
			labels[key] = strings.Trim(value, `"`)
		}
		switch labels["verb"] {
		case "LIST", "WATCH", "CONNECT":
			continue
		case "GET":
			if !reads {
				continue
			}
		}
		switch labels["resource"] {
		case "graphs", "graphrevisions", "configmaps":
			var n float64
			if _, err := fmt.Sscan(match[2], &n); err != nil {
				b.t.Fatal(err)
			}
			counts[strings.TrimSuffix(labels["verb"]+" "+labels["resource"]+"/"+labels["subresource"], "/")] += n
		}
	}
	return counts
}

// since gives the requests that came after an earlier count.
func (b *bench) since(before map[string]float64, reads bool) map[string]float64 {
	b.t.Helper()
	after := b.requests(reads)
	for key, n := range before {
		if after[key] -= n; after[key] == 0 {
			delete(after, key)
		}
	}
	return after
}

func TestARevisionForEverySpec(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	b.eventually(graphs, b.ns, "pair", field(1, "status", "appliedRevision"))
	b.alone()
	before := b.requests(false)
	b.apply(strings.Replace(pair, `a: "1"`, `a: "2"`, 1))
	b.converged("pair")
	b.eventually(graphs, b.ns, "pair", field(2, "status", "appliedRevision"))
	b.eventually(configMaps, b.ns, "second", field("2", "data", "b"))
	got := b.since(before, false)
	delete(got, "APPLY graphs") // our own
	want := map[string]float64{"POST graphrevisions": 1, "PATCH graphrevisions/status": 1, "APPLY configmaps": 2, "PATCH graphs/status": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests of one edit (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pair-g00001", "pair-g00002"}, b.revisionNames("pair")); diff != "" {
		t.Error(diff)
	}

	// The same in other words: no revision.
	b.alone()
	before = b.requests(false)
	same := strings.Replace(pair, `a: "1"`, `a: "2"`, 1)
	at := strings.Index(same, "  - id: second")
	head := strings.Index(same, "  - id: first")
	b.apply(same[:head] + same[at:] + "\n" + strings.TrimRight(same[head:at], "\n"))
	b.converged("pair")
	b.Kro.Stop()
	b.Kro.Start()
	cluster.Holds(t, "a restart writes nothing", 3*time.Second, func(context.Context) error {
		got := b.since(before, false)
		delete(got, "APPLY graphs")
		delete(got, "PATCH graphs/status") // the order of status.nodes, and observedGeneration
		return differ(map[string]float64{}, got)
	})

	b.delete(graphs, b.ns, "pair")
	b.gone(graphs, b.ns, "pair")
	if left := b.revisionNames("pair"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func differ(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got):\n%s", diff)
	}
	return nil
}

func TestOldRevisionsGoAndTheAppliedOneStays(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	for n := 2; n <= 9; n++ {
		b.apply(strings.Replace(pair, "${first.data.a}", fmt.Sprintf("${nobody%d.x}", n), 1))
		b.condition("pair", "Accepted", "False", "InvalidGraph")
	}
	want := []string{"pair-g00001", "pair-g00005", "pair-g00006", "pair-g00007", "pair-g00008", "pair-g00009"}
	cluster.Eventually(t, "revisions are retired", func(context.Context) error { return differ(want, b.revisionNames("pair")) })
	b.eventually(graphs, b.ns, "pair", field(1, "status", "appliedRevision"))
}

// TestTheRecipesOfTheDocumentationWork runs the commands of docs/graph.md.
func TestTheRecipesOfTheDocumentationWork(t *testing.T) {
	b := newBench(t)
	b.rights()
	demo := strings.Replace(pair, "name: pair", "name: demo", 1)
	b.apply(demo)
	b.converged("demo")
	before := b.get(configMaps, b.ns, "second")
	b.apply(strings.Replace(demo, "${first.data.a}", "${nobody.data.a}", 1))
	b.condition("demo", "Accepted", "False", "InvalidGraph")
	cluster.Eventually(t, "the revision says that it does not compile", func(context.Context) error {
		list := b.revisions("demo")
		if len(list) != 2 || len(list[1].Status.Conditions) == 0 {
			return fmt.Errorf("revisions: %v", list)
		}
		for _, c := range list[0].Status.Conditions {
			if c.Status != "True" {
				return fmt.Errorf("condition of the good one: %v", c)
			}
		}
		for _, c := range list[1].Status.Conditions {
			if c.Status != "False" || !strings.Contains(c.Message, "nobody") {
				return fmt.Errorf("condition: %v", c)
			}
		}
		return nil
	})
	if got := b.get(configMaps, b.ns, "second"); got.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("an edit that does not compile changed an object")
	}

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "graph.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "## Revisions")
	_, after, _ = strings.Cut(after, "```sh\n")
	script, _, _ := strings.Cut(after, "```")
	script = strings.NewReplacer("default.demo", b.ns+".demo", "default/demo", b.ns+"/demo", "-n default", "-n "+b.ns).Replace(script)
	programs, err := filepath.Abs(filepath.Join("..", "..", "localcluster", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "bash", "-u", "-c", script)
	command.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig, "PATH="+programs+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	for _, part := range []string{"demo-g00001", "False", "${first.data.a}", "${nobody.data.a}", "patched"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("the output lacks %s", part)
		}
	}
	b.condition("demo", "Accepted", "True", "Compiled")
	b.converged("demo")
	b.eventually(graphs, b.ns, "demo", field(3, "status", "appliedRevision"))
	if got := b.get(configMaps, b.ns, "second"); got.GetUID() != before.GetUID() || field("1", "data", "b")(got) != nil {
		t.Errorf("the object is %v", got.Object)
	}
}

func TestRevisionsOfAGraphThatWentUnseenGo(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(strings.Replace(pair, "${first.data.a}", "${nobody.data.a}", 1)) // gets no finalizer
	b.condition("pair", "Accepted", "False", "InvalidGraph")
	b.apply(strings.Replace(pair, "name: pair", "name: other", 1))
	b.converged("other")
	b.Kro.Stop()
	b.delete(graphs, b.ns, "pair")
	cluster.Eventually(t, "other loses its finalizer", func(ctx context.Context) error {
		other, err := b.Get(ctx, graphs, b.ns, "other")
		if err != nil {
			return err
		}
		other.SetFinalizers(nil)
		return b.Client.Update(ctx, other)
	})
	b.delete(graphs, b.ns, "other")
	b.gone(graphs, b.ns, "other")
	if n := len(b.revisionNames("pair")) + len(b.revisionNames("other")); n != 2 {
		t.Fatalf("%d revisions, want 2", n)
	}
	b.Kro.Start()
	cluster.Eventually(t, "they go", func(context.Context) error {
		return differ(0, len(b.revisionNames("pair"))+len(b.revisionNames("other")))
	})
}

func TestRevisionsOfDefinitionsAndGraphsKeepApart(t *testing.T) {
	b := newBench(t)
	b.rights()
	b.apply(pair)
	b.converged("pair")
	definition := b.ns + ".pair"
	b.apply(`apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: ` + definition + `}
spec:
  schema: {apiVersion: v1alpha1, kind: GraphTestApart, spec: {who: string}}
  resources:
  - id: one
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {a: b}}`)
	t.Cleanup(func() {
		rgd := &unstructured.Unstructured{}
		rgd.SetGroupVersionKind(graphs.GroupVersion().WithKind("ResourceGraphDefinition"))
		rgd.SetName(definition)
		_ = b.Client.Delete(context.Background(), rgd)
	})
	for _, by := range []client.ListOption{
		client.MatchingLabels{"kro.run/resource-graph-definition-name": definition},
		client.MatchingLabels{"internal.kro.run/resource-graph-definition-name": definition},
		client.MatchingLabels{"kro.run/owned": "true", "kro.run/resource-graph-definition-name": definition},
		client.MatchingFields{"spec.snapshot.name": definition},
	} {
		cluster.Eventually(t, fmt.Sprint(by), func(ctx context.Context) error {
			list := &internalv1alpha1.GraphRevisionList{}
			if err := b.Client.List(ctx, list, by); err != nil {
				return err
			}
			if len(list.Items) != 1 || list.Items[0].Name != definition+"-r00001" || list.Items[0].Spec.Graph != nil {
				return fmt.Errorf("revisions: %v", list.Items)
			}
			return nil
		})
	}
	of := b.revisions("pair")
	if len(of) != 1 || of[0].Labels["kro.run/owned"] != "" || len(of[0].OwnerReferences)+len(of[0].Finalizers) > 0 {
		t.Errorf("the revision of the Graph is %v", of)
	}
}
