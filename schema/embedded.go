package schema

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema/internal/slim"
)

//go:generate go run ./internal/snapshot -from ${KUBERNETES}/api/openapi-spec/v3 -to kubernetes.zip

// kubernetesZip holds the reduced OpenAPI documents of Kubernetes 1.37, an entry a group version: "api/v1", "apis/apps/v1".
//
//go:embed kubernetes.zip
var kubernetesZip []byte

// Embedded resolves the kinds built into Kubernetes 1.37 without a cluster. The document of a group version is decoded when the first of its kinds is
// asked for, and stays for the life of the process.
func Embedded() Resolver { return embedded() }

var embedded = sync.OnceValue(func() *snapshot { return &snapshot{documents: map[kschema.GroupVersion]*Document{}} })

type snapshot struct {
	mu        sync.Mutex
	archive   *zip.Reader
	documents map[kschema.GroupVersion]*Document
}

func (s *snapshot) Resolve(gvk kschema.GroupVersionKind) (*Kind, error) {
	document, err := s.document(gvk.GroupVersion())
	if err != nil {
		return nil, fmt.Errorf("reading the embedded schemas of %s: %w", gvk.GroupVersion(), err)
	}
	if document == nil {
		return nil, &NotFoundError{GVK: gvk}
	}
	return document.Kind(gvk)
}

// document gives the document of a group version, nil when Kubernetes has no such group version.
func (s *snapshot) document(gv kschema.GroupVersion) (*Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if document, known := s.documents[gv]; known {
		return document, nil
	}
	if s.archive == nil {
		archive, err := zip.NewReader(bytes.NewReader(kubernetesZip), int64(len(kubernetesZip)))
		if err != nil {
			return nil, err
		}
		s.archive = archive
	}
	document, err := s.read(DocumentPath(gv))
	if err != nil {
		return nil, err
	}
	s.documents[gv] = document
	return document, nil
}

func (s *snapshot) read(name string) (*Document, error) {
	if !fs.ValidPath(name) {
		return nil, nil
	}
	file, err := s.archive.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	var reduced slim.Document
	if err := json.Unmarshal(text, &reduced); err != nil {
		return nil, err
	}
	return newDocument(&reduced), nil
}

// DocumentPath is where the OpenAPI v3 document of a group version stands below /openapi/v3: "api/v1", "apis/apps/v1". It is also its key in the
// index of those documents.
func DocumentPath(gv kschema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}
