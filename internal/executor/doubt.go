package executor

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A request whose answer was lost may have been carried out. Until that is known, the object must neither drop out of the inventory nor be thought gone: it
// could be left behind for ever. Nor may it be removed as the cache shows it: what it says of itself, its wave and whether it stays, may have been changed.
// Doubts are settled by one look at the server, and only when it matters: before objects are removed.

// uncertain tells that a failed request may have been carried out all the same.
func uncertain(err error) bool {
	return err != nil && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsBadRequest(err) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsUnauthorized(err) && !apierrors.IsMethodNotSupported(err) && !apierrors.IsRequestEntityTooLargeError(err) &&
		!apierrors.IsUnsupportedMediaType(err) && !apierrors.IsNotAcceptable(err)
}

func (m *Memory) doubt(owner string, key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.doubts[owner] == nil {
		m.doubts[owner] = map[Key]bool{}
	}
	m.doubts[owner][key] = true
}

func (m *Memory) settle(owner string, key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.doubts[owner], key)
	if len(m.doubts[owner]) == 0 {
		delete(m.doubts, owner)
	}
}

func (m *Memory) doubtful(owner string) []Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]Key, 0, len(m.doubts[owner]))
	for key := range m.doubts[owner] {
		keys = append(keys, key)
	}
	return keys
}

// Settle finds out what became of the requests of an instance whose answers were lost. What exists is put into the
// caches. It fails when the server does not say of one of them; then nothing may be concluded from what the caches show, or do not show. The server is the executor's own
// unless another is given.
func (e *Executor) Settle(ctx context.Context, server Server, owner string, stores Stores) error {
	if server == nil {
		server = e.Server
	}
	var unknown []error
	for _, key := range e.Memory.doubtful(owner) {
		store := stores.Members(key.GVR)
		live, err := server.Get(ctx, key.GVR, key.Namespace, key.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			unknown = append(unknown, fmt.Errorf("finding out what became of %s %s/%s: %w", key.GVR.Resource, key.Namespace, key.Name, err))
			continue
		}
		if err == nil && isOwned(live) {
			live.SetManagedFields(nil)
			store.Record(live)
		}
		e.Memory.settle(owner, key)
	}
	return errors.Join(unknown...)
}
