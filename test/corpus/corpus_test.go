package corpus

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
)

const (
	folderVariable = "CORPUS_DIR"
	outcomesFile   = "outcomes.yaml"
	compiles       = "compiles"
)

var update = flag.Bool("update", false, "write outcomes.yaml anew")

// Every published definition compiles, or is refused for reasons that a person has agreed with.
func TestPublishedDefinitions(t *testing.T) {
	root := os.Getenv(folderVariable)
	if root == "" {
		t.Skip("the corpus is not part of this repository; " + folderVariable + " names its folder")
	}
	kinds := crdKinds(t, filepath.Join(root, "crds"))
	got := map[string][]string{}
	definitions := read(t, filepath.Join(root, "upstream-examples"), got)
	compileAll(t, definitions, kinds, got)

	if *update {
		raw, err := yaml.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(outcomesFile, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(outcomesFile)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	if err := yaml.UnmarshalStrict(raw, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
}

// BenchmarkLargestDefinition compiles the one with the most expressions among those that only need kinds of Kubernetes and of the corpus' CRDs.
func BenchmarkLargestDefinition(b *testing.B) {
	root := os.Getenv(folderVariable)
	if root == "" {
		b.Skip("the corpus is not part of this repository; " + folderVariable + " names its folder")
	}
	env := graph.Env{Kinds: schema.Join(schema.Embedded(), schema.Static(crdKinds(b, filepath.Join(root, "crds"))...))}
	var source graph.Source
	most, resources := 0, 0
	for _, d := range read(b, filepath.Join(root, "upstream-examples"), map[string][]string{}) {
		text, err := yaml.Marshal(d.rgd.Spec)
		if err != nil {
			b.Fatal(err)
		}
		expressions := bytes.Count(text, []byte("${"))
		candidate := graph.FromDefinition(d.rgd.Name, &d.rgd.Spec)
		if program, _ := graph.Compile(candidate, env); program != nil && expressions > most {
			source, most, resources = candidate, expressions, len(program.Nodes)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := graph.Compile(source, env); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
	b.ReportMetric(float64(most), "expressions")
	b.ReportMetric(float64(resources), "resources")
}

// definition is one document of the corpus.
type definition struct {
	place string
	rgd   v1alpha1.ResourceGraphDefinition
}

// compileAll compiles until no definition brings a kind that others have waited for.
func compileAll(t testing.TB, definitions []definition, kinds []*schema.Kind, got map[string][]string) {
	embedded := schema.Embedded()
	generated := map[string]bool{}
	for again := true; again; {
		again = false
		resolver := schema.Join(embedded, schema.Static(slices.Clone(kinds)...))
		for _, d := range definitions {
			program, faults := graph.Compile(graph.FromDefinition(d.rgd.Name, &d.rgd.Spec), graph.Env{Kinds: resolver})
			if program == nil {
				got[d.place] = lines(faults)
				continue
			}
			got[d.place] = []string{compiles}
			if crd := program.Instance.CRD; !generated[crd.Name] {
				generated[crd.Name], again = true, true
				own, err := schema.FromCRD(crd)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, own...)
			}
		}
	}
}

func lines(faults graph.Diagnostics) []string {
	var texts []string
	for _, d := range faults {
		texts = append(texts, d.Error())
	}
	return texts
}

// read finds the definitions in the YAML files of a folder. What is not YAML, or no definition of today, has its outcome at once.
func read(t testing.TB, folder string, got map[string][]string) []definition {
	var found []definition
	walk(t, folder, func(place string, raw []byte) {
		if !bytes.Contains(raw, []byte("ResourceGraphDefinition")) && !bytes.Contains(raw, []byte("kind: ResourceGroup")) {
			return
		}
		documents, err := split(raw)
		for i, document := range documents {
			at := place
			if len(documents) > 1 {
				at = fmt.Sprintf("%s#%d", place, i+1)
			}
			d := definition{place: at}
			if err := yaml.Unmarshal(document, &d.rgd); err != nil {
				got[at] = []string{"not a definition: " + err.Error()}
				continue
			}
			switch d.rgd.Kind {
			case "ResourceGraphDefinition":
				found = append(found, d)
			case "ResourceGroup":
				got[at] = []string{"not a definition: kind ResourceGroup is that of releases before 0.2"}
			}
		}
		if err != nil {
			got[place] = []string{"not YAML: " + err.Error()}
		}
	})
	return found
}

func crdKinds(t testing.TB, folder string) []*schema.Kind {
	var kinds []*schema.Kind
	walk(t, folder, func(place string, raw []byte) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := yaml.Unmarshal(raw, crd)
		if err == nil {
			var own []*schema.Kind
			own, err = schema.FromCRD(crd)
			kinds = append(kinds, own...)
		}
		if err != nil {
			t.Fatalf("%s: %v", place, err)
		}
	})
	return kinds
}

// walk reads the YAML files below a folder in the order of their names.
func walk(t testing.TB, folder string, file func(place string, raw []byte)) {
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		place, err := filepath.Rel(folder, path)
		if err == nil {
			files[filepath.ToSlash(place)], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range slices.Sorted(maps.Keys(files)) {
		file(place, files[place])
	}
}

func split(raw []byte) ([][]byte, error) {
	var documents [][]byte
	reader := yamlstream.NewDocumentDecoder(io.NopCloser(bytes.NewReader(raw)))
	buffer := make([]byte, len(raw)+1)
	for {
		n, err := reader.Read(buffer)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, err
		}
		document := bytes.Clone(buffer[:n])
		if says := map[string]any{}; yaml.Unmarshal(document, &says) != nil || len(says) > 0 { // more than comments
			documents = append(documents, document)
		}
	}
}
