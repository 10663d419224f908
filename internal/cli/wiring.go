package cli

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/controller/definition"
	"kro.run/kro/internal/controller/follow"
	"kro.run/kro/internal/controller/instance"
	"kro.run/kro/internal/controller/revision"
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/programs"
	"kro.run/kro/internal/watch"
	"kro.run/kro/internal/wire"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// leaseName is the name of the leader's lease, the same as that of other releases, so that two of them never work at the same time.
const leaseName = "controller.kro.run"

// build puts the house together: the catalog of kinds, the fleet of informers and the store of programs, on them the three controllers.
func build(ctx context.Context, cfg *rest.Config, options Options, log logr.Logger) (manager.Manager, error) {
	mgr, err := newManager(cfg, options, log)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := wire.NewClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	watchClient, err := wire.NewWatchClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	extensions, err := apiextensionsclient.NewForConfigAndClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for CustomResourceDefinitions: %w", err)
	}
	catalog, err := kinds.New(cfg, log.WithName("kinds"), kinds.Options{Hooks: measureKinds()})
	if err != nil {
		return nil, fmt.Errorf("making the catalog of kinds: %w", err)
	}
	fleet := watch.New(watchClient, log.WithName("dynamic-controller").WithName("watch-manager"), watch.Options{Hooks: measureWatches()})
	store := programs.New(compilerEnv(catalog, options), log.WithName("programs"))
	events, err := newEvents(cfg, mgr)
	if err != nil {
		return nil, err
	}
	instances := instance.New(instance.Deps{
		Client:  dynamicClient,
		Caches:  follow.Fleet(fleet),
		Kinds:   catalog,
		Events:  events.recorder,
		Log:     log,
		Options: instanceOptions(options),
	})
	graphs := newGraphs(cfg, options, dynamicClient, mgr, fleet, catalog, log)
	definitions := definition.New(definition.Deps{
		Client:    mgr.GetClient(),
		Live:      mgr.GetAPIReader(),
		Programs:  store,
		Instances: instances,
		Catalog:   catalog,
		CRDs:      definition.Extensions{CRDs: extensions.CustomResourceDefinitions(), Dynamic: dynamicClient},
		Log:       log.WithName("rgd-controller"),
		Options: definition.Options{
			Workers:          options.definitionWorkers(),
			MaxRevisions:     options.MaxRevisions,
			AllowCRDDeletion: options.AllowCRDDeletion,
		},
	})
	revisions := revision.New(revision.Deps{
		Client:   mgr.GetClient(),
		Programs: store,
		Log:      log.WithName("graph-revision-controller"),
		Workers:  options.RevisionWorkers,
	})

	// The order counts: a definition that is woken by a CRD must find its program marked as possibly out of date.
	catalog.Subscribe(func(change kinds.Change) {
		store.KindChanged(kschema.GroupKind{Group: change.Group, Kind: change.Kind})
		fleet.Kick(kschema.GroupResource{Group: change.Group, Resource: change.Plural})
		definitions.CRDChanged(change)
		graphs.kindChanged(change)
	})

	if err := definition.IndexRevisions(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	ready := &readiness{cache: mgr.GetCache(), catalog: catalog}
	runnables := append([]manager.Runnable{catalog, manager.RunnableFunc(fleet.Start), store, events, instances, ready}, graphs.runnables()...)
	for _, runnable := range runnables {
		if err := mgr.Add(runnable); err != nil {
			return nil, fmt.Errorf("adding %T to the manager: %w", runnable, err)
		}
	}
	for _, controller := range []interface{ Register(ctrl.Manager) error }{definitions, revisions} {
		if err := controller.Register(mgr); err != nil {
			return nil, fmt.Errorf("registering %T: %w", controller, err)
		}
	}
	return mgr, addProbes(ctx, mgr, ready)
}

func newManager(cfg *rest.Config, options Options, log logr.Logger) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, internalv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        log,
		Metrics:                       metricsserver.Options{BindAddress: options.MetricsAddress},
		HealthProbeBindAddress:        options.ProbeAddress,
		PprofBindAddress:              pprofAddress(options.PprofAddress),
		LeaderElection:                options.LeaderElection,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       options.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true, // the process ends with the manager
		LeaseDuration:                 &options.LeaseDuration,
		RenewDeadline:                 &options.RenewDeadline,
		RetryPeriod:                   &options.RetryPeriod,
		GracefulShutdownTimeout:       &options.GracefulShutdown,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Controller: config.Controller{
			RecoverPanic: ptr.To(true),
			EnableWarmup: ptr.To(options.Warmup),
			// Tests run several controllers in a process.
			SkipNameValidation: ptr.To(true),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return mgr, nil
}

func compilerEnv(catalog *kinds.Catalog, options Options) graph.Env {
	return graph.Env{
		Kinds:         catalog,
		MaxDimensions: options.MaxDimensions,
		NoStatusGraph: !options.StatusGraph,
		NoOmit:        !options.Gates.Enabled(gateOmit),
		CostLimit:     options.CELCostLimit,
	}
}

func instanceOptions(options Options) instance.Options {
	return instance.Options{
		Workers:           options.instanceWorkers(),
		ApplyConcurrency:  options.ApplyConcurrency,
		RetryMin:          options.RetryMin,
		RetryMax:          options.retryMax(),
		MaxCollectionSize: options.MaxCollectionSize,
		StatusGraph:       options.StatusGraph,
		NeverAdopt:        options.Adoption == adoptNever,
		Events:            options.Gates.Enabled(gateEvents),
		EventsOfBirth:     asksForEvents(options.Gates),
		ConditionMetrics:  options.Gates.Enabled(gateConditionMetrics),
	}
}

// addProbes serves the probes, and starts the caches that a standby has to hold.
func addProbes(ctx context.Context, mgr manager.Manager, ready *readiness) error {
	for _, object := range []client.Object{&v1alpha1.ResourceGraphDefinition{}, &internalv1alpha1.GraphRevision{}} {
		if _, err := mgr.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("preparing the cache of %T: %w", object, err)
		}
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", ready.check); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
