package wire

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient makes a dynamic client over an HTTP client, which takes precedence over the transport of cfg (see rest.HTTPClientFor).
func NewClient(cfg *rest.Config, over *http.Client) (dynamic.Interface, error) {
	return newClient(cfg, over, false)
}

// NewWatchClient makes a client for caches: its objects come without metadata.managedFields, which is often half of an object.
func NewWatchClient(cfg *rest.Config, over *http.Client) (dynamic.Interface, error) {
	return newClient(cfg, over, true)
}

func newClient(cfg *rest.Config, over *http.Client, lean bool) (dynamic.Interface, error) {
	cfg = dynamic.ConfigFor(cfg)
	cfg.NegotiatedSerializer = fasten(cfg.NegotiatedSerializer, lean)
	// A dynamic client gives the whole path with each request; the REST client insists on a path nevertheless.
	cfg.GroupVersion, cfg.APIPath = nil, "/unused"
	client, err := rest.UnversionedRESTClientForConfigAndClient(cfg, over)
	if err != nil {
		return nil, fmt.Errorf("making a dynamic client: %w", err)
	}
	return dynamic.New(client), nil
}
