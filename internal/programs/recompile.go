package programs

import (
	"context"
	"fmt"
	"runtime/debug"

	"kro.run/kro/graph"
)

// Start looks at specs whose kinds may have changed until ctx ends. When the cluster cannot be asked it tries again later.
func (s *Store) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.suspects.ShutDown)
	defer stop()
	for {
		key, shutdown := s.suspects.Get()
		if shutdown {
			return nil
		}
		s.recheck(key)
	}
}

// NeedLeaderElection says that the store is kept up to date on every replica: what stands in memory must be right when the lease is won.
func (s *Store) NeedLeaderElection() bool { return false }

func (s *Store) recheck(key Key) {
	defer s.suspects.Done(key)
	s.mu.Lock()
	e := s.entries[key]
	s.mu.Unlock()
	if e == nil {
		s.suspects.Forget(key)
		return
	}
	e.compiling.Lock()
	if !e.known { // the first Compile has not got to it yet and will see the cluster as it is now
		e.compiling.Unlock()
		s.suspects.Forget(key)
		return
	}
	result, change := s.bringUpToDate(e)
	e.compiling.Unlock()
	s.publish(change)
	if result.Err != nil {
		s.suspects.AddRateLimited(key)
		return
	}
	s.suspects.Forget(key)
}

// panicked tells the author of a document that the compiler broke on it.
func panicked(definition string, cause any) graph.Diagnostic {
	return graph.Diagnostic{
		Code:    graph.CodeInternal,
		Message: fmt.Sprintf("failed to build resourcegraphdefinition %q: the compiler broke: %v", definition, cause),
		Hint:    "this is a fault of kro; please report it with the definition",
	}
}

func stack() string { return string(debug.Stack()) }
