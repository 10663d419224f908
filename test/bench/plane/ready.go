package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// ports are those that a plane listens on.
type ports struct{ etcd, peer, api int }

func freePorts() (ports, error) {
	free, err := FreePorts(3)
	if err != nil {
		return ports{}, err
	}
	return ports{etcd: free[0], peer: free[1], api: free[2]}, nil
}

// FreePorts finds ports of loopback that nobody listens on at the moment. They are all different.
func FreePorts(n int) ([]int, error) {
	var found []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() // not before all have been found, or one would be found twice
		found = append(found, listener.Addr().(*net.TCPAddr).Port)
	}
	return found, nil
}

// ready waits until the API server says that it is.
func (p *Plane) ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("not asked yet")
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready after %s: %w", within, last)
		case <-tick.C:
		}
		if err := p.Unexpected(); err != nil {
			return err
		}
		if last = p.get(ctx, "/readyz", nil); last == nil {
			return nil
		}
	}
}

// get sends one request as the first user and decodes the answer, unless into is nil.
func (p *Plane) get(ctx context.Context, uri string, into any) error {
	transport, err := rest.TransportFor(p.Config(p.options.Users[0]))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address()+uri, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", uri, response.Status, strings.TrimSpace(string(body)))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}
