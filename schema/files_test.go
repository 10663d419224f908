package schema

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

func files(contents map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range contents {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func gadgets(color string) string {
	return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.example.com"}, "spec": {"group": "example.com",
 "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"}, "versions": [{"name": "v1", "served": true, "storage": true,
 "schema": {"openAPIV3Schema": {"type": "object", "properties": {"color": {"type": "` + color + `"}}}}}]}}`
}

func TestFromFiles(t *testing.T) {
	fsys := files(map[string]string{
		"crds/deep/widgets.yaml": "# an operator's installation\n---\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x}\n---" + widgets,
		"crds/gadgets.json":      gadgets("string"),
		"crds/notes.txt":         "apiVersion: {",
		"crds/values.yml":        "just: [values]\n---\n- a list\n---\ntext\n",
		"list.conf":              "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(gadgets("string"), "\n", ""),
		"elsewhere/broken.yaml":  "a: [",
	})
	resolver, err := FromFiles(fsys, "crds", "list.conf", "./crds/")
	if err != nil {
		t.Fatal(err)
	}
	for _, gvk := range []kschema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Widget"}, {Group: "example.com", Version: "v2", Kind: "Widget"}, {Group: "example.com", Version: "v1", Kind: "Gadget"},
	} {
		if _, err := resolver.Resolve(gvk); err != nil {
			t.Errorf("%v: %v", gvk, err)
		}
	}
	var missing *NotFoundError
	if _, err := resolver.Resolve(kschema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}); !errors.As(err, &missing) {
		t.Errorf("an object that is no CRD: got %v, want a NotFoundError", err)
	}
}

func TestFromFilesErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		path   string
		want   []string
	}{
		"NoFile": {"a path that is not there", nil, "crds", []string{"crds"}},
		"NotYAML": {
			"the document that cannot be read is named", map[string]string{"a.yaml": "a: b\n---\na: [\n"}, "a.yaml",
			[]string{"a.yaml", "document 2"},
		},
		"OldVersion": {
			"no server takes v1beta1 any more",
			map[string]string{"a.yaml": "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"}, "a.yaml",
			[]string{"a.yaml", "document 1", "v1beta1", "convert it to apiextensions.k8s.io/v1"},
		},
		"WrongShape": {
			"a field of another type than a CRD's",
			map[string]string{"a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {versions: v1}\n"}, "a.yaml",
			[]string{"a.yaml", "document 1", "versions"},
		},
		"NoGroup": {
			"an incomplete CRD, in a list",
			map[string]string{"a.yaml": "kind: List\nitems:\n- {}\n- " + strings.ReplaceAll(strings.Replace(gadgets("string"), `"group": "example.com",`, "", 1), "\n", "")}, "a.yaml",
			[]string{"a.yaml", "items[1]", "gadgets.example.com", "spec.group is empty"},
		},
		"Conflict": {
			"two files that define one kind differently",
			map[string]string{"crds/a.yaml": gadgets("string"), "crds/b.yaml": gadgets("integer")}, "crds",
			[]string{"crds/a.yaml", "crds/b.yaml", "example.com/v1, Kind=Gadget"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := FromFiles(files(c.files), c.path)
			if err == nil {
				t.Fatalf("%s: want an error", c.reason)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q does not say %q", c.reason, err, part)
				}
			}
		})
	}
}
