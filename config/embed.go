// Package config holds the manifests that an installation of kro needs, and carries those that programs of this repository install themselves.
package config

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0 object crd paths=../api/... output:crd:dir=crd
//go:generate go run ./crd/finish crd/kro.run_resourcegraphdefinitions.yaml crd/kro.run_graphs.yaml crd/internal.kro.run_graphrevisions.yaml

// Files are the CRDs of kro's own kinds as YAML, under crd/.
//
//go:embed crd/*.yaml
var Files embed.FS

// CRDs gives the CRDs of kro's own kinds, in the order of their file names. The objects belong to the caller.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := Files.ReadDir("crd")
	if err != nil {
		return nil, fmt.Errorf("reading embedded CRDs: %w", err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(entries))
	for _, entry := range entries {
		text, err := Files.ReadFile("crd/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading embedded CRD %s: %w", entry.Name(), err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("parsing embedded CRD %s: %w", entry.Name(), err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
