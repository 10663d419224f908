package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kro.run/kro/api/v1alpha1"
)

// Hash identifies what a spec means: 16 hex digits, FNV-1a 64 over a canonical JSON form.
//
// Specs that differ only in the order of resources or conditions, in keys, white space, or defaults written out have one hash. The form is that of kro 0.9, to the
// byte, so that a controller that takes over a cluster finds its revisions in order and issues no new ones. It therefore has types of its own: the API types may get
// fields and lose order, the form may not. A new field belongs into the form, left out when empty.
func Hash(spec *v1alpha1.ResourceGraphDefinitionSpec) (string, error) {
	form, err := canonicalForm(spec)
	if err != nil {
		return "", fmt.Errorf("hashing spec: %w", err)
	}
	return digest(form), nil
}

func digest(form []byte) string {
	h := fnv.New64a()
	h.Write(form)
	return fmt.Sprintf("%016x", h.Sum64())
}

type canonicalSpec struct {
	Schema    *canonicalSchema    `json:"schema"`
	Resources []canonicalResource `json:"resources,omitempty"`
}

type canonicalSchema struct {
	Kind                     string                                           `json:"kind"`
	APIVersion               string                                           `json:"apiVersion"`
	Group                    string                                           `json:"group,omitempty"`
	Spec                     json.RawMessage                                  `json:"spec"`
	Types                    json.RawMessage                                  `json:"types"`
	Status                   json.RawMessage                                  `json:"status"`
	Scope                    apiextensionsv1.ResourceScope                    `json:"scope,omitempty"`
	AdditionalPrinterColumns []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	ShortNames               []string                                         `json:"shortNames,omitempty"`
	Categories               []string                                         `json:"categories,omitempty"`
	Metadata                 *v1alpha1.CRDMetadata                            `json:"metadata,omitempty"`
	Plural                   string                                           `json:"plural,omitempty"`
}

type canonicalResource struct {
	ID          string                `json:"id"`
	Template    json.RawMessage       `json:"template"`
	ExternalRef *canonicalExternalRef `json:"externalRef,omitempty"`
	ReadyWhen   []string              `json:"readyWhen,omitempty"`
	IncludeWhen []string              `json:"includeWhen,omitempty"`
	ForEach     []map[string]string   `json:"forEach,omitempty"`

	Def            json.RawMessage         `json:"def,omitempty"`
	Patch          json.RawMessage         `json:"patch,omitempty"`
	DeletionPolicy v1alpha1.DeletionPolicy `json:"deletionPolicy,omitempty"`
	ExternalFields []string                `json:"externalFields,omitempty"`
}

type canonicalExternalRef struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   canonicalMetadata `json:"metadata"`
}

type canonicalMetadata struct {
	Name      string          `json:"name,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Selector  json.RawMessage `json:"selector,omitempty"`
}

// canonicalForm writes the JSON that is hashed. Escaping of < > & is part of it.
func canonicalForm(spec *v1alpha1.ResourceGraphDefinitionSpec) ([]byte, error) {
	var form canonicalSpec
	var err error
	if form.Schema, err = schemaForm(spec.Schema); err != nil {
		return nil, err
	}
	for i, resource := range sortedResources(spec.Resources) {
		r, err := resourceForm(resource)
		if err != nil {
			return nil, fmt.Errorf("resource %d: %w", i, err)
		}
		form.Resources = append(form.Resources, r)
	}
	return json.Marshal(form)
}

func sortedResources(resources []*v1alpha1.Resource) []*v1alpha1.Resource {
	present := slices.DeleteFunc(slices.Clone(resources), func(r *v1alpha1.Resource) bool { return r == nil })
	slices.SortStableFunc(present, func(a, b *v1alpha1.Resource) int { return strings.Compare(a.ID, b.ID) })
	return present
}

func schemaForm(schema *v1alpha1.Schema) (*canonicalSchema, error) {
	if schema == nil {
		return nil, nil
	}
	form := &canonicalSchema{
		Kind: schema.Kind, APIVersion: schema.APIVersion, Group: schema.Group, Scope: schema.Scope, Plural: schema.Plural,
		AdditionalPrinterColumns: schema.AdditionalPrinterColumns, ShortNames: schema.ShortNames, Categories: schema.Categories,
		Metadata: schema.Metadata,
	}
	if form.Group == "" {
		form.Group = v1alpha1.Group
	}
	if form.Scope == "" {
		form.Scope = apiextensionsv1.NamespaceScoped
	}
	var err error
	if form.Spec, err = rawForm(schema.Spec); err != nil {
		return nil, fmt.Errorf("schema.spec: %w", err)
	}
	if form.Types, err = rawForm(schema.Types); err != nil {
		return nil, fmt.Errorf("schema.types: %w", err)
	}
	if form.Status, err = rawForm(schema.Status); err != nil {
		return nil, fmt.Errorf("schema.status: %w", err)
	}
	return form, nil
}

func resourceForm(resource *v1alpha1.Resource) (canonicalResource, error) {
	form := canonicalResource{
		ID:          resource.ID,
		ReadyWhen:   slices.Sorted(slices.Values(resource.ReadyWhen)),
		IncludeWhen: slices.Sorted(slices.Values(resource.IncludeWhen)),

		DeletionPolicy: resource.DeletionPolicy,
		ExternalFields: slices.Sorted(slices.Values(resource.ExternalFields)),
	}
	if form.DeletionPolicy == v1alpha1.DeletionPolicyDelete {
		form.DeletionPolicy = "" // the default, written out
	}
	for _, dimension := range resource.ForEach {
		form.ForEach = append(form.ForEach, dimension)
	}
	var err error
	if form.Template, err = rawForm(resource.Template); err != nil {
		return form, fmt.Errorf("template of %q: %w", resource.ID, err)
	}
	if form.Def, err = optionalForm(resource.Def); err != nil {
		return form, fmt.Errorf("def of %q: %w", resource.ID, err)
	}
	if form.Patch, err = optionalForm(resource.Patch); err != nil {
		return form, fmt.Errorf("patch of %q: %w", resource.ID, err)
	}
	if ref := resource.ExternalRef; ref != nil {
		form.ExternalRef = &canonicalExternalRef{
			APIVersion: ref.APIVersion, Kind: ref.Kind,
			Metadata: canonicalMetadata{Name: ref.Metadata.Name, Namespace: ref.Metadata.Namespace},
		}
		if form.ExternalRef.Metadata.Selector, err = selectorForm(ref.Metadata.Selector); err != nil {
			return form, fmt.Errorf("selector of %q: %w", resource.ID, err)
		}
	}
	return form, nil
}

// rawForm writes a free-form part with sorted keys; an absent one is null.
func rawForm(raw runtime.RawExtension) (json.RawMessage, error) {
	text := raw.Raw
	if text == nil && raw.Object != nil {
		var err error
		if text, err = json.Marshal(raw.Object); err != nil {
			return nil, err
		}
	}
	if len(text) == 0 {
		return json.RawMessage("null"), nil
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return json.Marshal(value)
}

// optionalForm writes a free-form part that other releases do not know: an absent one leaves no trace.
func optionalForm(raw runtime.RawExtension) (json.RawMessage, error) {
	if len(raw.Raw) == 0 && raw.Object == nil {
		return nil, nil
	}
	return rawForm(raw)
}

// selectorForm writes a label selector in the order of its Go type, as it was hashed when it had one, and anything else as it is.
func selectorForm(raw *runtime.RawExtension) (json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	form, err := rawForm(*raw)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(form))
	decoder.DisallowUnknownFields()
	var selector metav1.LabelSelector
	if !bytes.HasPrefix(form, []byte("{")) || decoder.Decode(&selector) != nil {
		return form, nil
	}
	return json.Marshal(selector)
}
