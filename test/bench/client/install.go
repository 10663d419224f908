package client

import (
	"context"
	"fmt"
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Definitions is where CRDs are.
var Definitions = kschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Install applies a CRD and returns when the server answers requests for its objects at the given path.
func (c *Client) Install(ctx context.Context, name string, crd any, serves string) error {
	if _, err := c.Apply(ctx, Path(Definitions, "", name), crd); err != nil {
		return fmt.Errorf("install CRD %s: %w", name, err)
	}
	if err := c.Serves(ctx, serves); err != nil {
		return fmt.Errorf("install CRD %s: %w", name, err)
	}
	return nil
}

// Serves returns when the server answers a list of the collection.
func (c *Client) Serves(ctx context.Context, path string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, _, err := c.List(ctx, path, "limit", "1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not served: %w", path, err)
		case <-tick.C:
		}
	}
}
