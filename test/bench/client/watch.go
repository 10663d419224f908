package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Change is one thing that happened to an object.
type Change struct {
	Item
	Deleted bool
}

// List reads a collection, and the version to watch it from.
func (c *Client) List(ctx context.Context, path string, options ...string) (items []Item, version string, err error) {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []Item `json:"items"`
	}
	if err := c.Get(ctx, path, &list, options...); err != nil {
		return nil, "", err
	}
	return list.Items, list.Metadata.ResourceVersion, nil
}

// Watch tells about the objects of a collection: first those that are there, then every change, until on says that it has
// seen enough. It fails when the server ends the watch.
func (c *Client) Watch(ctx context.Context, path string, on func(Change) (enough bool), options ...string) error {
	items, version, err := c.List(ctx, path, options...)
	if err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	for _, item := range items {
		if on(Change{Item: item}) {
			return nil
		}
	}
	return c.WatchFrom(ctx, path, version, on, options...)
}

// WatchFrom is Watch without the objects that are there at a version that List gave.
func (c *Client) WatchFrom(ctx context.Context, path, version string, on func(Change) (enough bool), options ...string) error {
	stream, err := query(c.rest.Get().AbsPath(path).Param("watch", "true").Param("resourceVersion", version), options).Stream(ctx)
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	defer stream.Close()
	decoder := json.NewDecoder(stream)
	for {
		var message struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&message); err != nil {
			return fmt.Errorf("watch %s: %w", path, ended(ctx, err))
		}
		if message.Type == "ERROR" {
			return fmt.Errorf("watch %s: the server says %s", path, message.Object)
		}
		change := Change{Deleted: message.Type == "DELETED"}
		if err := json.Unmarshal(message.Object, &change.Item); err != nil {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		if on(change) {
			return nil
		}
	}
}

func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server ended it")
	}
	return err
}
