package kinds

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"golang.org/x/sync/singleflight"

	"kro.run/kro/schema"
)

// index of the OpenAPI documents, by their path below /openapi/v3.
type index = map[string]openapi.GroupVersionWithContext

// documents resolves built-in and aggregated kinds from the server's OpenAPI documents.
type documents struct {
	index remembered[index]
	calls caller

	flight singleflight.Group
	mu     sync.Mutex
	parsed map[string]parsed // by path
}

// parsed is a document with the URL it came from, which contains its hash.
type parsed struct {
	url      string
	document *schema.Document
}

// resolve looks where the documents are thought to be, and looks again when the kind is not there.
func (d *documents) resolve(ctx context.Context, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	known, err := d.index.get(ctx)
	if err != nil {
		return nil, err
	}
	kind, err := d.lookup(ctx, known, gvk)
	var missing *schema.NotFoundError
	if !errors.As(err, &missing) {
		return kind, err
	}
	if known, err = d.index.recheck(ctx); err != nil {
		return nil, err
	}
	return d.lookup(ctx, known, gvk)
}

func (d *documents) lookup(ctx context.Context, known index, gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	path := schema.DocumentPath(gvk.GroupVersion())
	published, exists := known[path]
	if !exists {
		return nil, &schema.NotFoundError{GVK: gvk}
	}
	document, err := d.document(ctx, path, published)
	if apierrors.IsNotFound(err) {
		return nil, &schema.NotFoundError{GVK: gvk}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document of %s: %w", gvk.GroupVersion(), err)
	}
	return document.Kind(gvk)
}

// document gives the parsed document, fetched when there is none with this hash.
func (d *documents) document(ctx context.Context, path string, published openapi.GroupVersionWithContext) (*schema.Document, error) {
	url := published.ServerRelativeURL()
	d.mu.Lock()
	known := d.parsed[path]
	d.mu.Unlock()
	if known.url == url {
		d.calls.hooks.Hit()
		return known.document, nil
	}
	d.calls.hooks.Miss()
	document, err := d.calls.once(&d.flight, url, func() (any, error) {
		text, err := published.SchemaWithContext(ctx, runtime.ContentTypeJSON)
		if err != nil {
			return nil, err
		}
		document, err := schema.ParseDocument(text)
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.parsed[path] = parsed{url: url, document: document}
		return document, nil
	})
	if err != nil {
		return nil, err
	}
	return document.(*schema.Document), nil
}
