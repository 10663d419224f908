package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kro.run/kro/config"
	"kro.run/kro/test/bench/client"
)

// installCRDs installs the CRDs of kro's own kinds: those of this repository, or those of a folder.
func installCRDs(ctx context.Context, c *client.Client, folder string) error {
	files, err := fs.Sub(config.Files, "crd")
	if err != nil {
		return err
	}
	if folder != "" {
		files = os.DirFS(folder)
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("install CRDs: there is no *.yaml in %s", folder)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("install CRDs: %w", err)
		}
		if err := installCRD(ctx, c, text); err != nil {
			return fmt.Errorf("install the CRD of %s: %w", path.Base(name), err)
		}
	}
	return nil
}

func installCRD(ctx context.Context, c *client.Client, text []byte) error {
	var crd struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Plural string `json:"plural"`
			} `json:"names"`
			Versions []struct {
				Name string `json:"name"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	if len(crd.Spec.Versions) == 0 {
		return fmt.Errorf("%q has no versions", crd.Metadata.Name)
	}
	var whole map[string]any
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return err
	}
	served := kschema.GroupVersionResource{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Resource: crd.Spec.Names.Plural}
	return c.Install(ctx, crd.Metadata.Name, whole, client.Path(served, ""))
}
