// Command snapshot writes the schemas of Kubernetes' built-in kinds that the binary carries, from the OpenAPI v3 documents in a Kubernetes source tree:
//
//	go run ./schema/internal/snapshot -from <kubernetes>/api/openapi-spec/v3 -to schema/kubernetes.zip
//
// `go mod download -json k8s.io/kubernetes@<version>` tells where the module cache has that tree. The output depends on the input alone.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kro.run/kro/schema/internal/slim"
)

func main() {
	from := flag.String("from", "", "directory with the OpenAPI v3 documents")
	to := flag.String("to", "kubernetes.zip", "file to write")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	sources, err := filepath.Glob(filepath.Join(from, "*_openapi.json")) // sorted
	if err != nil {
		return fmt.Errorf("looking for OpenAPI documents in %s: %w", from, err)
	}
	var archive bytes.Buffer
	entries := zip.NewWriter(&archive)
	entries.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	written := 0
	for _, source := range sources {
		reduced, err := reduce(source)
		if err != nil {
			return err
		}
		if reduced == nil {
			continue
		}
		// apis__apps__v1_openapi.json holds what a server publishes at /openapi/v3/apis/apps/v1.
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(source), "_openapi.json"), "__", "/")
		entry, err := entries.Create(name)
		if err != nil {
			return fmt.Errorf("adding %s: %w", name, err)
		}
		if _, err := entry.Write(reduced); err != nil {
			return fmt.Errorf("adding %s: %w", name, err)
		}
		written++
	}
	if written == 0 {
		return fmt.Errorf("no OpenAPI document with kinds in %q", from)
	}
	if err := entries.Close(); err != nil {
		return fmt.Errorf("finishing %s: %w", to, err)
	}
	return os.WriteFile(to, archive.Bytes(), 0o644)
}

// reduce gives the reduced document, nil when it serves no kind.
func reduce(source string) ([]byte, error) {
	full, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	document, err := slim.Reduce(full)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if len(document.Kinds) == 0 {
		return nil, nil
	}
	document.Trim()
	return json.Marshal(document)
}
