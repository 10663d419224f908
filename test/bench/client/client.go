package client

import (
	"context"
	"encoding/json"
	"fmt"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Client sends requests as one user.
type Client struct {
	rest *rest.RESTClient
	user string
}

// New makes a client. The user agent of the configuration is the field manager of what it applies.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	config.GroupVersion = &kschema.GroupVersion{} // paths are given whole
	config.APIPath = "/"
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", config.Host, err)
	}
	return &Client{rest: c, user: config.UserAgent}, nil
}

// Path is the place of a collection of objects, or of one of them when a name is given.
func Path(resource kschema.GroupVersionResource, namespace string, name ...string) string {
	path := "/apis/" + resource.Group + "/" + resource.Version
	if resource.Group == "" {
		path = "/api/" + resource.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + resource.Resource
	for _, part := range name {
		path += "/" + part
	}
	return path
}

// Get reads an object, or a list, into a value. Options are query parameters: key, value, key, value.
func (c *Client) Get(ctx context.Context, path string, into any, options ...string) error {
	data, err := send(ctx, query(c.rest.Get().AbsPath(path), options))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Create makes an object and gives what the server made of it.
func (c *Client) Create(ctx context.Context, path string, object any) (Item, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return Item{}, err
	}
	return answered(send(ctx, c.rest.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body)))
}

// Apply sends an object by server-side apply, with force.
func (c *Client) Apply(ctx context.Context, path string, object any) (Item, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return Item{}, err
	}
	request := c.rest.Patch(types.ApplyYAMLPatchType).AbsPath(path).Param("fieldManager", c.user).Param("force", "true")
	return answered(send(ctx, request.Body(body)))
}

// Merge changes an object by a merge patch.
func (c *Client) Merge(ctx context.Context, path string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = send(ctx, c.rest.Patch(types.MergePatchType).AbsPath(path).Body(body))
	return err
}

// Delete asks for the deletion of an object, or of a collection.
func (c *Client) Delete(ctx context.Context, path string, options ...string) error {
	_, err := send(ctx, query(c.rest.Delete().AbsPath(path), options))
	return err
}

// send gives the text of an answer. An error holds what the server says: only Result.Error reads that, Raw does not.
func send(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

func query(request *rest.Request, options []string) *rest.Request {
	for i := 0; i+1 < len(options); i += 2 {
		request = request.Param(options[i], options[i+1])
	}
	return request
}

func answered(data []byte, err error) (Item, error) {
	if err != nil {
		return Item{}, err
	}
	var item Item
	err = json.Unmarshal(data, &item)
	return item, err
}
