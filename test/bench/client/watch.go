package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
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

// WatchFrom tells about every change of a collection after a version that List gave, until on says that it has seen
// enough. When the server ends a watch, as it does when the CRD behind it changes, it goes on from where it was.
func (c *Client) WatchFrom(ctx context.Context, path, version string, on func(Change) (enough bool), options ...string) error {
	for {
		last, enough, err := c.watchOnce(ctx, path, version, on, options)
		if enough {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		version = last
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// watchOnce follows one watch to its end, and gives the version that it came to. There is no error when the server ends
// it in good order.
func (c *Client) watchOnce(ctx context.Context, path, version string, on func(Change) bool, options []string) (last string, enough bool, err error) {
	stream, err := query(c.rest.Get().AbsPath(path).Param("watch", "true").Param("resourceVersion", version), options).Stream(ctx)
	if err != nil {
		return version, false, err
	}
	defer stream.Close()
	decoder := json.NewDecoder(stream)
	for {
		var message struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&message); errors.Is(err, io.EOF) {
			return version, false, nil
		} else if err != nil {
			return version, false, err
		}
		if message.Type == "ERROR" {
			return version, false, fmt.Errorf("the server says %s", message.Object)
		}
		change := Change{Deleted: message.Type == "DELETED"}
		if err := json.Unmarshal(message.Object, &change.Item); err != nil {
			return version, false, err
		}
		version = change.Metadata.ResourceVersion
		if on(change) {
			return version, true, nil
		}
	}
}
