package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kro.run/kro/internal/controller/instance"
)

// events writes the events of the controllers. They go through the core API: only there an event has the source that `kubectl describe` shows and
// that installations select by, and it is what the roles of other releases allow.
type events struct {
	broadcaster record.EventBroadcaster
	scheme      *runtime.Scheme
	sink        record.EventSink
}

func newEvents(cfg *rest.Config, mgr manager.Manager) (*events, error) {
	client, err := corev1client.NewForConfigAndClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	return &events{
		broadcaster: record.NewBroadcaster(),
		scheme:      mgr.GetScheme(),
		sink:        &corev1client.EventSinkImpl{Interface: client.Events("")},
	}, nil
}

// recorder writes events whose source is a component.
func (e *events) recorder(component string) instance.Recorder {
	return e.broadcaster.NewRecorder(e.scheme, corev1.EventSource{Component: component})
}

// Start sends what is recorded until ctx ends.
func (e *events) Start(ctx context.Context) error {
	e.broadcaster.StartRecordingToSink(e.sink)
	<-ctx.Done()
	e.broadcaster.Shutdown()
	return nil
}

// NeedLeaderElection has the events sent before the first controller starts.
func (e *events) NeedLeaderElection() bool { return false }
