package graph

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/utils/lru"

	"kro.run/kro/api/v1alpha1"
)

// maxClients bounds how many clients are kept. They share connections; one costs little to make again.
const maxClients = 1024

// clients keeps a client for each user that Graphs act as.
type clients struct {
	as   func(user string) (dynamic.Interface, error)
	kept *lru.Cache
}

func newClients(as func(user string) (dynamic.Interface, error)) *clients {
	return &clients{as: as, kept: lru.New(maxClients)}
}

func (c *clients) of(user string) (dynamic.Interface, error) {
	if kept, ok := c.kept.Get(user); ok {
		return kept.(dynamic.Interface), nil
	}
	client, err := c.as(user)
	if err != nil {
		return nil, fmt.Errorf("making a client that acts as %s: %w", user, err)
	}
	c.kept.Add(user, client)
	return client, nil
}

// User is the user that a ServiceAccount is.
func User(namespace, serviceAccount string) string {
	return "system:serviceaccount:" + namespace + ":" + serviceAccount
}

// userOf is the user that a Graph asks to act as.
func userOf(namespace string, spec *v1alpha1.GraphSpec) string {
	if spec.ServiceAccountName == "" {
		return User(namespace, "default")
	}
	return User(namespace, spec.ServiceAccountName)
}
