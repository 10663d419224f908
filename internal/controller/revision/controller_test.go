package revision

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/internal/programs"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

// world is a cluster around one controller, and the programs in its memory.
type world struct {
	t          *testing.T
	client     client.Client
	controller *Controller
	writes     []string

	result   programs.Result
	inMemory bool
	compiled int
}

var valid = programs.Result{Program: &graph.Program{Nodes: []*graph.Node{{ID: "a"}, {ID: "b", Index: 1, Dependencies: []int{0}}}}}

func newWorld(t *testing.T, objects ...client.Object) *world {
	scheme := runtime.NewScheme()
	if err := internalv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, result: valid}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&internalv1alpha1.GraphRevision{}).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				w.writes = append(w.writes, "patch "+o.GetName())
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				w.writes = append(w.writes, sub+" "+o.GetName())
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.controller = New(Deps{Client: w.client, Programs: w, Log: logr.Discard(), Clock: testclock.NewFakePassiveClock(now)})
	return w
}

// Compile implements Programs.
func (w *world) Compile(programs.Key, *v1alpha1.ResourceGraphDefinitionSpec) programs.Result {
	w.compiled++
	return w.result
}

// Known implements Programs.
func (w *world) Known(programs.Key) bool { return w.inMemory }

// Subscribe implements Programs.
func (w *world) Subscribe(func(programs.Change)) {}

// reconcile runs one pass and returns its requests.
func (w *world) reconcile() ([]string, error) {
	w.writes, w.compiled = nil, 0
	_, err := w.controller.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "shop-r00001"}})
	return w.writes, err
}

func (w *world) get() *internalv1alpha1.GraphRevision {
	w.t.Helper()
	r := &internalv1alpha1.GraphRevision{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: "shop-r00001"}, r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// conditions writes all as "Type Status Reason Message;".
func (w *world) conditions() string {
	var text string
	for _, c := range w.get().Status.Conditions {
		text += fmt.Sprintf("%s %s %s %s;", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func revisionOne(finalizers ...string) *internalv1alpha1.GraphRevision {
	r := &internalv1alpha1.GraphRevision{ObjectMeta: metav1.ObjectMeta{Name: "shop-r00001", Generation: 1, Finalizers: finalizers}}
	r.Spec.Revision = 1
	r.Spec.Snapshot.Name = "shop"
	r.Spec.Snapshot.Spec = v1alpha1.ResourceGraphDefinitionSpec{
		Schema:    &v1alpha1.Schema{Kind: "App", APIVersion: "v1"},
		Resources: []*v1alpha1.Resource{{ID: "b"}, {ID: "a"}},
	}
	return r
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const verified = "GraphVerified True Verified graph revision compiled and verified;Ready True Ready ;"

func TestNewRevision(t *testing.T) {
	w := newWorld(t, revisionOne())
	writes, err := w.reconcile()
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"patch shop-r00001", "status shop-r00001"}, writes)
	equal(t, "conditions", verified, w.conditions())
	equal(t, "order", []string{"a", "b"}, w.get().Status.TopologicalOrder)
	equal(t, "finalizers", []string{v1alpha1.Finalizer}, w.get().Finalizers)
}

func TestRetiredRevisionIsNotCompiled(t *testing.T) {
	w := newWorld(t, revisionOne(v1alpha1.Finalizer))
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	writes, err := w.reconcile()
	equal(t, "error", nil, err)
	equal(t, "requests", 0, len(writes))
	equal(t, "compilations of a revision whose verdict stands", 0, w.compiled)
}

func TestVerdictFollowsTheProgramInUse(t *testing.T) {
	w := newWorld(t, revisionOne(v1alpha1.Finalizer))
	w.inMemory = true
	for _, step := range []struct {
		reason string
		result programs.Result
		want   string
	}{
		{"it compiles", valid, verified},
		{
			"a kind has gone", programs.Result{Program: valid.Program, Diagnostics: graph.Diagnostics{{Message: "no such kind"}}},
			`GraphVerified False InvalidGraph failed to compile graph revision "shop-r00001": no such kind;` +
				`Ready False InvalidGraph failed to compile graph revision "shop-r00001": no such kind;`,
		},
		{"the kind is back", valid, verified},
	} {
		w.result = step.result
		_, err := w.reconcile()
		equal(t, step.reason, nil, err)
		equal(t, step.reason, step.want, w.conditions())
	}
}

func TestClusterCannotBeAsked(t *testing.T) {
	refused := errors.New("connection refused")
	w := newWorld(t, revisionOne(v1alpha1.Finalizer))
	w.inMemory, w.result = true, programs.Result{Err: refused}
	if _, err := w.reconcile(); !errors.Is(err, refused) {
		t.Errorf("error %v, want one that brings a retry", err)
	}
	equal(t, "a verdict that is not known", "GraphVerified Unknown SchemaUnavailable connection refused;Ready Unknown SchemaUnavailable connection refused;", w.conditions())

	w.result = valid
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.result = programs.Result{Program: valid.Program, Err: refused}
	if _, err := w.reconcile(); !errors.Is(err, refused) {
		t.Errorf("error %v, want one that brings a retry", err)
	}
	equal(t, "a verdict that stands", verified, w.conditions())
}

func TestDeletion(t *testing.T) {
	w := newWorld(t, revisionOne(v1alpha1.Finalizer))
	if err := w.client.Delete(context.Background(), w.get()); err != nil {
		t.Fatal(err)
	}
	writes, err := w.reconcile()
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"patch shop-r00001"}, writes)
	writes, err = w.reconcile()
	equal(t, "error of a pass over what is gone", nil, err)
	equal(t, "requests of it", 0, len(writes))
}

func TestRevisionsOfGraphsAreLeftAlone(t *testing.T) {
	r := revisionOne()
	r.Spec.Graph = &internalv1alpha1.GraphSnapshot{Namespace: "default", Name: "shop"}
	w := newWorld(t, r)
	writes, err := w.reconcile()
	equal(t, "error", nil, err)
	equal(t, "requests", 0, len(writes))
	equal(t, "compilations", 0, w.compiled)
}

func TestRevisionsOfGraphsGoWhateverAnotherReleasePutOnThem(t *testing.T) {
	r := revisionOne(v1alpha1.Finalizer)
	r.Spec.Graph = &internalv1alpha1.GraphSnapshot{Namespace: "default", Name: "shop"}
	w := newWorld(t, r)
	if err := w.client.Delete(context.Background(), w.get()); err != nil {
		t.Fatal(err)
	}
	writes, err := w.reconcile()
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"patch shop-r00001"}, writes)
}
