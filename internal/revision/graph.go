package revision

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
)

// GraphLineage is what the revisions of a Graph have in spec.snapshot.name. No definition has such a name, since no name contains a slash.
func GraphLineage(graph types.NamespacedName) string {
	return graph.Namespace + "/" + graph.Name
}

// GraphName gives the name of revision n of a Graph: default.shop-g00007. A namespace contains no dot, so that no two Graphs share a name, and no revision of a
// definition ends like this. A name that would be too long is cut and gets a hash of the full one.
func GraphName(graph types.NamespacedName, n int64) string {
	return numbered(graph.Namespace+"."+graph.Name, fmt.Sprintf("-g%05d", n))
}

// NewGraph gives the revision with number n of a Graph, to be created. spec is the spec as the server has it. The revision has no owner, because an object of the
// cluster must have none in a namespace, and no finalizer: nothing has to be done when it goes.
func NewGraph(graph types.NamespacedName, uid types.UID, generation int64, spec map[string]any, hash string, n int64, version string) (*internalv1alpha1.GraphRevision, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec: %w", err)
	}
	return &internalv1alpha1.GraphRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:   GraphName(graph, n),
			Labels: map[string]string{v1alpha1.VersionLabel: version, v1alpha1.RevisionHashLabel: hash},
		},
		Spec: internalv1alpha1.GraphRevisionSpec{
			Revision: n,
			Snapshot: internalv1alpha1.ResourceGraphDefinitionSnapshot{
				Name: GraphLineage(graph), Generation: generation, Spec: nothing(),
			},
			Graph: &internalv1alpha1.GraphSnapshot{
				Namespace: graph.Namespace, Name: graph.Name, UID: uid, Spec: runtime.RawExtension{Raw: text},
			},
		},
	}, nil
}

// nothing is a valid definition without resources: controllers of other releases compile the snapshot of every revision they see.
func nothing() v1alpha1.ResourceGraphDefinitionSpec {
	return v1alpha1.ResourceGraphDefinitionSpec{Schema: &v1alpha1.Schema{
		Kind: v1alpha1.GraphKind, APIVersion: v1alpha1.GroupVersion.Version, Scope: apiextensionsv1.NamespaceScoped,
	}}
}

// HashOfGraph is the hash of the spec in a revision of a Graph; empty when it has none that can be read.
func HashOfGraph(r *internalv1alpha1.GraphRevision) string {
	if r == nil || r.Spec.Graph == nil {
		return ""
	}
	var spec v1alpha1.GraphSpec
	if json.Unmarshal(r.Spec.Graph.Spec.Raw, &spec) != nil {
		return ""
	}
	hash, _ := HashGraph(&spec)
	return hash
}

// HashGraph identifies what the spec of a Graph means, as Hash does for a definition: order of nodes and conditions, keys, white space and defaults written out make
// no difference. Inside of an inline graph the order of nodes does.
func HashGraph(spec *v1alpha1.GraphSpec) (string, error) {
	form := canonicalGraph{ServiceAccountName: spec.ServiceAccountName}
	if form.ServiceAccountName == "" {
		form.ServiceAccountName = "default"
	}
	nodes := slices.Clone(spec.Nodes)
	slices.SortStableFunc(nodes, func(a, b v1alpha1.GraphNode) int { return strings.Compare(a.ID, b.ID) })
	for i := range nodes {
		node, err := nodeForm(&nodes[i])
		if err != nil {
			return "", fmt.Errorf("hashing node %q: %w", nodes[i].ID, err)
		}
		form.Nodes = append(form.Nodes, node)
	}
	text, err := json.Marshal(form)
	if err != nil {
		return "", fmt.Errorf("hashing spec: %w", err)
	}
	return digest(text), nil
}

type canonicalGraph struct {
	ServiceAccountName string          `json:"serviceAccountName"`
	Nodes              []canonicalNode `json:"nodes"`
}

type canonicalNode struct {
	canonicalResource
	Graph json.RawMessage `json:"graph,omitempty"`
}

// nodeForm brings a node into the form of a resource, which knows the same parts but for the inline graph.
func nodeForm(node *v1alpha1.GraphNode) (canonicalNode, error) {
	ref := node.Ref
	if ref == nil {
		ref = node.Watch
	}
	resource, err := resourceForm(&v1alpha1.Resource{
		ID: node.ID, Template: node.Template, ExternalRef: ref, Def: node.Def, Patch: node.Patch,
		ReadyWhen: node.ReadyWhen, IncludeWhen: node.IncludeWhen, ForEach: node.ForEach,
		DeletionPolicy: node.DeletionPolicy, ExternalFields: node.ExternalFields,
	})
	if err != nil {
		return canonicalNode{}, err
	}
	graph, err := optionalForm(node.Graph)
	return canonicalNode{resource, graph}, err
}
