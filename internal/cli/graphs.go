package cli

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kro.run/kro/internal/controller/follow"
	graphcontroller "kro.run/kro/internal/controller/graph"
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/watch"
	"kro.run/kro/internal/wire"
)

// graphs is what serves Graphs; empty when the feature gate is off.
type graphs struct {
	controller *graphcontroller.Controller
	programs   *programs.Store
}

// newGraphs makes the controller of Graphs. It has a store of programs of its own: a Graph and a definition may have the same name.
func newGraphs(cfg *rest.Config, options Options, client dynamic.Interface, mgr manager.Manager, fleet *watch.Fleet, catalog *kinds.Catalog, log logr.Logger) graphs {
	if !options.Gates.Enabled(gateGraphs) {
		return graphs{}
	}
	log = log.WithName("graph-controller")
	store := programs.New(compilerEnv(catalog, options), log.WithName("programs"))
	controller := graphcontroller.New(graphcontroller.Deps{
		Client:    client,
		As:        impersonate(cfg),
		Revisions: mgr.GetClient(),
		Caches:    follow.Fleet(fleet),
		Kinds:     catalog,
		Programs:  store,
		Recorder:  mgr.GetEventRecorder("kro"),
		Log:       log,
		Options: graphcontroller.Options{
			Workers:           options.graphWorkers(),
			ApplyConcurrency:  options.ApplyConcurrency,
			RetryMin:          time.Second,
			RetryMax:          options.retryMax(),
			MaxCollectionSize: options.MaxCollectionSize,
			MaxRevisions:      options.MaxRevisions,
			Events:            options.Gates.Enabled(gateEvents),
			EventsOfBirth:     asksForEvents(options.Gates),
			ConditionMetrics:  options.Gates.Enabled(gateConditionMetrics),
			NeverAdopt:        options.Adoption == adoptNever,
			Self:              options.self(),
		},
	})
	return graphs{controller: controller, programs: store}
}

// impersonate makes clients that act as a user. The name is all that is impersonated; the server adds the groups that every ServiceAccount has.
func impersonate(cfg *rest.Config) func(user string) (dynamic.Interface, error) {
	return func(user string) (dynamic.Interface, error) {
		as := rest.CopyConfig(cfg)
		as.Impersonate = rest.ImpersonationConfig{UserName: user}
		over, err := rest.HTTPClientFor(as)
		if err != nil {
			return nil, fmt.Errorf("making a client that acts as %s: %w", user, err)
		}
		return wire.NewClient(as, over)
	}
}

func (g graphs) kindChanged(change kinds.Change) {
	if g.controller == nil {
		return
	}
	gk := kschema.GroupKind{Group: change.Group, Kind: change.Kind}
	g.programs.KindChanged(gk)
	g.controller.KindChanged(gk)
}

func (g graphs) runnables() []manager.Runnable {
	if g.controller == nil {
		return nil
	}
	return []manager.Runnable{g.programs, g.controller}
}
