package cli

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"kro.run/kro/internal/kinds"
)

// readiness answers /readyz: yes once everything that a replica can know without being the leader is in its caches, so that it serves at once, or
// takes over at once.
type readiness struct {
	cache   cache.Cache
	catalog *kinds.Catalog
	synced  atomic.Bool
}

// Start waits for the caches.
func (r *readiness) Start(ctx context.Context) error {
	r.synced.Store(r.cache.WaitForCacheSync(ctx))
	<-ctx.Done()
	return nil
}

// NeedLeaderElection says that a standby becomes ready too.
func (r *readiness) NeedLeaderElection() bool { return false }

// check is the probe.
func (r *readiness) check(*http.Request) error {
	switch {
	case !r.synced.Load():
		return errors.New("definitions and revisions have not been read yet")
	case !r.catalog.Synced():
		return errors.New("the CRDs of the cluster have not been read yet")
	}
	return nil
}
