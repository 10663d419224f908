package crd

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
)

// Owner is the definition that a CRD belongs to.
type Owner struct {
	// Name and UID are those of the ResourceGraphDefinition.
	Name string
	UID  types.UID
	// Version is the version of the controller, fit for a label.
	Version string
}

// record is what kro remembers in a CRD about the CRD: what the definition asked for when it was written last. It is the value of CRDMetadataAnnotation.
type record struct {
	// Labels and Annotations are the keys that come from the definition: those may be removed, those of others may not.
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	// Spec is the hash of the CRD's spec. While the definition asks for the same, whatever differs in the cluster was edited by hand, and is put back.
	Spec string `json:"spec"`
}

// ownLabels are the labels that kro writes on a CRD; a definition cannot set them.
func (o Owner) ownLabels() map[string]string {
	return map[string]string{
		v1alpha1.OwnedLabel:          "true",
		v1alpha1.VersionLabel:        o.Version,
		v1alpha1.DefinitionIDLabel:   string(o.UID),
		v1alpha1.DefinitionNameLabel: v1alpha1.LabelValue(o.Name),
	}
}

// Dress gives a copy of a CRD with kro's labels and annotations on it. They win over those of the same key in the definition.
func Dress(crd *apiextensionsv1.CustomResourceDefinition, owner Owner) (*apiextensionsv1.CustomResourceDefinition, error) {
	dressed := crd.DeepCopy()
	own := owner.ownLabels()
	kept := record{}
	var err error
	if kept.Spec, err = hashOf(&dressed.Spec); err != nil {
		return nil, fmt.Errorf("CRD %s cannot be written as JSON: %w", crd.Name, err)
	}
	for _, key := range slices.Sorted(maps.Keys(crd.Labels)) {
		if _, kros := own[key]; !kros {
			kept.Labels = append(kept.Labels, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(crd.Annotations)) {
		if key != v1alpha1.CRDMetadataAnnotation && key != v1alpha1.DefinitionNameAnnotation {
			kept.Annotations = append(kept.Annotations, key)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("recording the metadata of CRD %s: %w", crd.Name, err)
	}
	if dressed.Labels == nil {
		dressed.Labels = map[string]string{}
	}
	if dressed.Annotations == nil {
		dressed.Annotations = map[string]string{}
	}
	maps.Copy(dressed.Labels, own)
	dressed.Annotations[v1alpha1.CRDMetadataAnnotation] = string(text)
	delete(dressed.Annotations, v1alpha1.DefinitionNameAnnotation)
	if own[v1alpha1.DefinitionNameLabel] != owner.Name {
		dressed.Annotations[v1alpha1.DefinitionNameAnnotation] = owner.Name
	}
	return dressed, nil
}

// hashOf identifies a spec as it is written.
func hashOf(spec *apiextensionsv1.CustomResourceDefinitionSpec) (string, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	h.Write(raw)
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// recordOf reads what kro remembers in a CRD. One that is not there or was edited into something else says nothing.
func recordOf(crd *apiextensionsv1.CustomResourceDefinition) record {
	var r record
	if err := json.Unmarshal([]byte(crd.Annotations[v1alpha1.CRDMetadataAnnotation]), &r); err != nil {
		return record{}
	}
	return r
}

// merge gives the labels or annotations that a CRD of the cluster shall have: its own, without those that the definition has dropped, with those desired.
func merge(current, desired map[string]string, fromDefinition []string) map[string]string {
	merged := maps.Clone(current)
	if merged == nil {
		merged = make(map[string]string, len(desired))
	}
	for _, key := range fromDefinition {
		delete(merged, key)
	}
	maps.Copy(merged, desired)
	return merged
}

// sameMetadata compares labels or annotations. The version label alone is no reason to write: it tells who wrote last.
func sameMetadata(current, merged map[string]string) bool {
	if len(current) != len(merged) {
		return false
	}
	for key, value := range merged {
		has, ok := current[key]
		if !ok || has != value && key != v1alpha1.VersionLabel {
			return false
		}
	}
	return true
}

// IsOwned tells whether kro made a CRD. Releases before the label marked their CRDs with the well-known one. Where somebody took the labels off, what kro
// remembers in the CRD still tells; to take a CRD away from kro, the label is set to false.
func IsOwned(crd *apiextensionsv1.CustomResourceDefinition) bool {
	if owned, ok := crd.Labels[v1alpha1.OwnedLabel]; ok {
		return owned == "true"
	}
	return crd.Labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedByValue || recordOf(crd).Spec != ""
}

// OwnerName gives the name of the definition that a CRD belongs to, in full where it is known, or "" when it says none.
func OwnerName(crd *apiextensionsv1.CustomResourceDefinition) string {
	label := crd.Labels[v1alpha1.DefinitionNameLabel]
	if full := crd.Annotations[v1alpha1.DefinitionNameAnnotation]; full != "" && v1alpha1.LabelValue(full) == label {
		return full
	}
	return label
}

// BelongsTo tells whether a CRD belongs to the definition of this name.
func BelongsTo(crd *apiextensionsv1.CustomResourceDefinition, definition string) bool {
	return IsOwned(crd) && crd.Labels[v1alpha1.DefinitionNameLabel] == v1alpha1.LabelValue(definition)
}
