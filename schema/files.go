package schema

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// FromFiles resolves the kinds of all CustomResourceDefinitions in the given files and directories of fsys. Directories are searched at any depth for
// files named *.yaml, *.yml or *.json. A file may hold several documents and lists; objects of other kinds are passed over, so that a chart's or an
// operator's whole installation may be given. Two files that define the same kind differently are an error.
func FromFiles(fsys fs.FS, paths ...string) (Resolver, error) {
	found := static{}
	origin := map[kschema.GroupVersionKind]string{}
	add := func(file string) error {
		content, err := fs.ReadFile(fsys, file)
		if err != nil {
			return fmt.Errorf("reading CustomResourceDefinitions: %w", err)
		}
		kinds, err := ReadCRDs(file, bytes.NewReader(content))
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			if known := found[kind.GVK]; known != nil && known.Fingerprint != kind.Fingerprint {
				return fmt.Errorf("%s defines %s otherwise than %s does: give one of them", file, Name(kind.GVK), origin[kind.GVK])
			}
			found[kind.GVK], origin[kind.GVK] = kind, file
		}
		return nil
	}
	for _, root := range paths {
		err := fs.WalkDir(fsys, path.Clean(root), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fmt.Errorf("looking for CustomResourceDefinitions: %w", err)
			case entry.IsDir() || file != path.Clean(root) && !isManifest(file):
				return nil
			}
			return add(file)
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func isManifest(file string) bool {
	switch path.Ext(file) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// ReadCRDs gives the kinds of the CustomResourceDefinitions in a stream of YAML or JSON documents, in order. The name appears in errors.
func ReadCRDs(name string, manifests io.Reader) ([]*Kind, error) {
	var kinds []*Kind
	documents := yamlstream.NewYAMLReader(bufio.NewReader(manifests))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return kinds, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: reading document %d: %w", name, number, err)
		}
		object, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d is not YAML: %w", name, number, err)
		}
		more, err := crdsIn(object)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, number, err)
		}
		kinds = append(kinds, more...)
	}
}

// crdsIn reads one object: a CustomResourceDefinition, a list that may hold some, or something else.
func crdsIn(object []byte) ([]*Kind, error) {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return nil, nil //nolint:nilerr // no Kubernetes object: a values file, a comment, a bare text
	}
	if strings.HasSuffix(head.Kind, "List") {
		var kinds []*Kind
		for i, item := range head.Items {
			more, err := crdsIn(item)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			kinds = append(kinds, more...)
		}
		return kinds, nil
	}
	group, version, _ := strings.Cut(head.APIVersion, "/")
	if head.Kind != "CustomResourceDefinition" || group != apiextensionsv1.GroupName {
		return nil, nil
	}
	if version != "v1" {
		return nil, fmt.Errorf("the CustomResourceDefinition has apiVersion %s, which Kubernetes no longer serves: convert it to %s", head.APIVersion, apiextensionsv1.SchemeGroupVersion)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(object, &crd); err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinition: %w", err)
	}
	return FromCRD(&crd)
}
