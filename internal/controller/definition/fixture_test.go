package definition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/controller/instance"
	"kro.run/kro/internal/crd"
	"kro.run/kro/internal/kinds"
	"kro.run/kro/internal/programs"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

var errUnreachable = errors.New("unreachable")

// world is a cluster around one controller. Specs whose first resource is called "bad" do not compile.
type world struct {
	// refuse is what the next patch is answered with.
	refuse     error
	t          *testing.T
	missing    map[string]kschema.GroupVersionKind // kinds that bad resources lack
	clock      *testclock.FakePassiveClock
	client     client.Client
	controller *Controller
	options    Options

	// writes are the requests that changed something, as "verb Kind name".
	writes []string
	// bad are ids of resources that do not compile now.
	bad map[string]bool
	// unreachable: the kinds cannot be asked for. compiled is what compiled before.
	unreachable bool
	compiled    map[programs.Key]*graph.Program

	crds      map[string]*apiextensionsv1.CustomResourceDefinition
	hold      bool             // new CRDs are not established
	shown     map[string]int64 // generations that the catalog shows, where it is behind
	fail      error            // what Ensure answers
	ensured   int
	instances map[string]int64 // by CRD name

	served    map[string]instance.Definition
	withdrawn []string
}

func newWorld(t *testing.T) *world {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, internalv1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{
		t: t, clock: testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		bad:  map[string]bool{"bad": true},
		crds: map[string]*apiextensionsv1.CustomResourceDefinition{}, instances: map[string]int64{},
		served: map[string]instance.Definition{},
	}
	note := func(verb string, o client.Object) {
		w.writes = append(w.writes, fmt.Sprintf("%s %s %s", verb, strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1alpha1."), o.GetName()))
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.ResourceGraphDefinition{}, &internalv1alpha1.GraphRevision{}).
		WithIndex(&internalv1alpha1.GraphRevision{}, ByDefinition, func(o client.Object) []string {
			return []string{o.(*internalv1alpha1.GraphRevision).Spec.Snapshot.Name}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				note("create", o)
				o.SetUID(types.UID(o.GetName() + "-uid"))
				return c.Create(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				note("patch", o)
				if err := w.refuse; err != nil {
					w.refuse = nil
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				note(sub, o)
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				note("delete", o)
				return c.Delete(ctx, o, opts...)
			},
		}).Build()
	w.restart()
	return w
}

// restart is a new process: nothing is remembered.
func (w *world) restart() {
	w.served, w.compiled = map[string]instance.Definition{}, map[programs.Key]*graph.Program{}
	w.controller = New(Deps{
		Client: w.client, Live: w.client, Programs: w, Instances: w, Catalog: w, CRDs: crds{w}, Log: logr.Discard(), Clock: w.clock, Options: w.options,
	})
}

// Compile implements Programs.
func (w *world) Compile(key programs.Key, spec *v1alpha1.ResourceGraphDefinitionSpec) programs.Result {
	if w.unreachable {
		return programs.Result{Program: w.compiled[key], Err: errUnreachable}
	}
	if spec.Schema == nil {
		return programs.Result{Diagnostics: graph.Diagnostics{{Message: "spec.schema is required"}}}
	}
	program := &graph.Program{Hash: spec.Schema.Categories[0]}
	for i, r := range spec.Resources {
		if w.bad[r.ID] {
			return programs.Result{Diagnostics: graph.Diagnostics{{Message: r.ID + " does not fit", Missing: w.missing[r.ID]}}}
		}
		program.Nodes = append(program.Nodes, &graph.Node{ID: r.ID, Index: i})
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Kind: spec.Schema.Kind, Plural: strings.ToLower(spec.Schema.Kind) + "s", Categories: spec.Schema.Categories}
	properties := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, name := range spec.Schema.ShortNames {
		properties[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	made := &apiextensionsv1.CustomResourceDefinition{}
	made.Name = names.Plural + ".example.com"
	made.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties},
		}}},
	}
	program.Instance = &graph.Instance{Resource: kschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: names.Plural}, CRD: made}
	w.compiled[key] = program
	return programs.Result{Program: program}
}

// Retain implements Programs.
func (w *world) Retain(string, ...string) {}

// Subscribe implements Programs.
func (w *world) Subscribe(func(programs.Change)) {}

// Serve implements Instances.
func (w *world) Serve(_ context.Context, d instance.Definition) error {
	w.served[d.Name] = d
	return nil
}

// Withdraw implements Instances.
func (w *world) Withdraw(definition string) {
	delete(w.served, definition)
	w.withdrawn = append(w.withdrawn, definition)
}

// Instances implements Instances.
func (w *world) Instances(string) (int, bool) { return 0, false }

// OnInstanceGone implements Instances.
func (w *world) OnInstanceGone(func(string)) {}

// Synced implements Catalog.
func (w *world) Synced() bool { return true }

// CRD implements Catalog.
func (w *world) CRD(name string) (kinds.CRDInfo, bool) {
	found := w.crds[name]
	if found == nil {
		return kinds.CRDInfo{}, false
	}
	info := kinds.CRDInfo{
		Name: name, UID: found.UID, ResourceVersion: found.ResourceVersion, Generation: found.Generation, Labels: found.Labels,
		Kind: found.Spec.Names.Kind, Established: crd.Established(found),
	}
	if behind, ok := w.shown[name]; ok {
		info.Generation, info.ResourceVersion = behind, fmt.Sprint(behind)
	}
	return info, true
}

// crds implements CRDs.
type crds struct{ *world }

func (w crds) Ensure(_ context.Context, desired *apiextensionsv1.CustomResourceDefinition, options crd.Options) (crd.Result, error) {
	w.ensured++
	if w.fail != nil {
		return crd.Result{}, w.fail
	}
	current := w.crds[desired.Name]
	if current == nil {
		found := desired.DeepCopy()
		found.UID, found.CreationTimestamp.Time = "crd-uid", w.clock.Now()
		w.put("create", found)
		if !w.hold {
			w.establish(found)
		}
		return crd.Result{CRD: found, Action: crd.Created}, nil
	}
	if options.Current != nil {
		current = options.Current
	}
	next, result, err := crd.Plan(current, desired, options.AllowBreaking)
	if err == nil && result.Action == crd.Updated {
		w.put("update", next)
		result.CRD = next
	}
	return result, err
}

func (w *world) put(verb string, found *apiextensionsv1.CustomResourceDefinition) {
	w.writes = append(w.writes, verb+" CRD "+found.Name)
	found.Generation++
	found.ResourceVersion = fmt.Sprint(found.Generation)
	w.crds[found.Name] = found
}

func (w *world) establish(found *apiextensionsv1.CustomResourceDefinition) {
	found.Status.AcceptedNames = found.Spec.Names
	found.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
}

func (w crds) Get(_ context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	return w.crds[name], nil
}

func (w crds) Delete(_ context.Context, found *apiextensionsv1.CustomResourceDefinition) error {
	w.writes = append(w.writes, "delete CRD "+found.Name)
	delete(w.crds, found.Name)
	return nil
}

func (w crds) Instances(_ context.Context, gvr kschema.GroupVersionResource) (int64, error) {
	return w.instances[gvr.GroupResource().String()], nil
}

// definition is a document; mark distinguishes specs. Its short names stand for the fields of its API.
func definition(name, mark string, ids ...string) *v1alpha1.ResourceGraphDefinition {
	rgd := &v1alpha1.ResourceGraphDefinition{}
	rgd.Name = name
	rgd.Spec.Schema = &v1alpha1.Schema{Kind: "App", APIVersion: "v1", Group: "example.com", Categories: []string{mark}}
	for _, id := range ids {
		rgd.Spec.Resources = append(rgd.Spec.Resources, &v1alpha1.Resource{ID: id})
	}
	return rgd
}

// apply creates a document or replaces its spec, as the API server does: with another generation.
func (w *world) apply(rgd *v1alpha1.ResourceGraphDefinition) {
	w.t.Helper()
	ctx := context.Background()
	old := &v1alpha1.ResourceGraphDefinition{}
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(rgd), old); err != nil {
		rgd.Generation, rgd.CreationTimestamp.Time = 1, w.clock.Now()
		if err := w.client.Create(ctx, rgd); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	old.Spec = rgd.Spec
	old.Generation++
	if err := w.client.Update(ctx, old); err != nil {
		w.t.Fatal(err)
	}
}

// reconcile runs one pass and returns the requests that it sent.
func (w *world) reconcile(name string) (reconcile.Result, []string, error) {
	w.writes = nil
	result, err := w.controller.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	return result, w.writes, err
}

// settle runs passes until nothing is written any more.
func (w *world) settle(name string) {
	w.t.Helper()
	for range 5 {
		_, writes, err := w.reconcile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(writes) == 0 {
			return
		}
	}
	w.t.Fatalf("%s does not come to rest: %v", name, w.writes)
}

func (w *world) get(name string) *v1alpha1.ResourceGraphDefinition {
	w.t.Helper()
	rgd := &v1alpha1.ResourceGraphDefinition{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: name}, rgd); err != nil {
		w.t.Fatal(err)
	}
	return rgd
}

// condition writes one as "Status/Reason@generation message".
func (w *world) condition(name, typ string) string {
	w.t.Helper()
	for _, c := range w.get(name).Status.Conditions {
		if c.Type == typ {
			return fmt.Sprintf("%s/%s@%d %s", c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	return "none"
}
