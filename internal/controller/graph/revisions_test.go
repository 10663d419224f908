package graph

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/conditions"
	"kro.run/kro/internal/controller/definition"
	"kro.run/kro/internal/executor"
)

var demo = types.NamespacedName{Namespace: "default", Name: "demo"}

// world is a server with one Graph and its revisions.
type world struct {
	t          *testing.T
	controller *Controller
	state      *state
	object     *unstructured.Unstructured
	status     v1alpha1.GraphStatus
	uids       int
	writes     []string
	fail       error
}

func newWorld(t *testing.T, graphs ...runtime.Object) *world {
	scheme := runtime.NewScheme()
	if err := internalv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t}
	note := func(verb string, o client.Object) error {
		w.writes = append(w.writes, verb+" "+o.GetName())
		return w.fail
	}
	revisions := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&internalv1alpha1.GraphRevision{}).
		WithIndex(&internalv1alpha1.GraphRevision{}, definition.ByDefinition, func(o client.Object) []string {
			return []string{o.(*internalv1alpha1.GraphRevision).Spec.Snapshot.Name}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := note("create", o); err != nil {
					return err
				}
				w.uids++
				o.SetUID(types.UID(fmt.Sprint("revision-", w.uids)))
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := note("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o) // the fake does not know preconditions on the uid
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := note(sub, o); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	graphScheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(graphScheme); err != nil {
		t.Fatal(err)
	}
	w.controller = &Controller{
		Deps: Deps{
			Client: dynamicfake.NewSimpleDynamicClient(graphScheme, graphs...), Revisions: revisions, Log: logr.Discard(),
			Clock:   testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
			Options: Options{MaxRevisions: 3},
		},
	}
	w.born("uid-1")
	return w
}

// born makes the Graph another one of the same name.
func (w *world) born(uid executor.UID) {
	w.state = &state{uid: uid}
	w.status = v1alpha1.GraphStatus{}
	w.object = &unstructured.Unstructured{Object: map[string]any{}}
	w.object.SetNamespace(demo.Namespace)
	w.object.SetName(demo.Name)
}

// pass numbers a spec whose one value is text, judges it, and returns the requests.
func (w *world) pass(text, problem string) ([]string, *pass) {
	w.t.Helper()
	w.writes = nil
	spec := map[string]any{"nodes": []any{map[string]any{"id": "a", "def": map[string]any{"x": text}}}}
	if cmp.Diff(w.object.Object["spec"], any(spec)) != "" {
		w.object.SetGeneration(w.object.GetGeneration() + 1)
		w.object.Object["spec"] = spec
	}
	p := &pass{Controller: w.controller, key: demo, state: w.state, object: w.object, status: w.status}
	var typed v1alpha1.GraphSpec
	if err := decode(w.object.Object["spec"], &typed); err != nil {
		w.t.Fatal(err)
	}
	p.number(w.t.Context(), &typed)
	p.judge(w.t.Context(), problem)
	w.status = p.status
	return w.writes, p
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTwoRequestsASpecAndNoneWithout(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		reason, text string
		restart      bool
		want         []string
		issued       int64
	}{
		{"the first spec", "1", false, []string{"create default.demo-g00001", "status default.demo-g00001"}, 1},
		{"the same", "1", false, nil, 1},
		{"another", "2", false, []string{"create default.demo-g00002", "status default.demo-g00002"}, 2},
		{"the same after a restart", "2", true, nil, 2},
		{"the first again is a new revision", "1", false, []string{"create default.demo-g00003", "status default.demo-g00003"}, 3},
		{"the oldest goes", "3", false, []string{"create default.demo-g00004", "delete default.demo-g00001", "status default.demo-g00004"}, 4},
		{"and nothing more", "3", true, nil, 4},
	} {
		if step.restart {
			w.state = &state{uid: w.state.uid}
		}
		got, p := w.pass(step.text, "")
		equal(t, step.reason, step.want, got)
		equal(t, step.reason+": error", nil, p.unkept)
		equal(t, step.reason+": lastIssuedRevision", step.issued, w.status.LastIssuedRevision)
	}
}

func TestTheAppliedRevisionIsKept(t *testing.T) {
	w := newWorld(t)
	w.pass("1", "")
	w.status.AppliedRevision = 1
	for n := 2; n <= 6; n++ {
		w.pass(fmt.Sprint(n), "no such node")
	}
	all, err := w.controller.revisionsOf(t.Context(), demo, nil)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int64
	for _, r := range all {
		numbers = append(numbers, r.Spec.Revision)
	}
	equal(t, "revisions", []int64{1, 4, 5, 6}, numbers)
}

func TestAVerdictIsWrittenWhenItIsNews(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		reason, problem string
		want            []string
		conditions      string
	}{
		{"it does not compile", "no such kind", []string{"create default.demo-g00001", "status default.demo-g00001"}, "GraphVerified=False/InvalidGraph Ready=False/InvalidGraph "},
		{"nor the next time", "no such kind", nil, "GraphVerified=False/InvalidGraph Ready=False/InvalidGraph "},
		{"the kind has come", "", []string{"status default.demo-g00001"}, "GraphVerified=True/Verified Ready=True/Ready "},
		{"and stays", "", nil, "GraphVerified=True/Verified Ready=True/Ready "},
	} {
		got, p := w.pass("1", step.problem)
		equal(t, step.reason, step.want, got)
		var text string
		for _, c := range p.revision.Status.Conditions {
			text += fmt.Sprintf("%s=%s/%s ", c.Type, c.Status, c.Reason)
		}
		equal(t, step.reason+": conditions", step.conditions, text)
	}
}

func TestAHistoryThatCannotBeKeptStopsNobody(t *testing.T) {
	w := newWorld(t)
	w.fail = errors.New("quota")
	_, p := w.pass("1", "no such node")
	if !errors.Is(p.unkept, w.fail) || p.revision != nil {
		t.Errorf("unkept %v, revision %v", p.unkept, p.revision)
	}
	w.fail = nil
	got, p := w.pass("1", "")
	equal(t, "requests of the next try", []string{"create default.demo-g00001", "status default.demo-g00001"}, got)
	equal(t, "its error", nil, p.unkept)
}

func TestAGraphOfTheSameNameHasAHistoryOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.pass("1", "")
	w.born("uid-2")
	got, _ := w.pass("1", "")
	equal(t, "requests", []string{"create default.demo-g00002", "delete default.demo-g00001", "status default.demo-g00002"}, got)
}

func TestRevisionsGoWithTheirGraph(t *testing.T) {
	w := newWorld(t)
	w.pass("1", "")
	_, p := w.pass("2", "")
	w.writes = nil
	p.dropAll(t.Context())
	equal(t, "requests", []string{"delete default.demo-g00001", "delete default.demo-g00002"}, w.writes)
	equal(t, "nothing is left to sweep", true, p.state.history.dropped)
}

func TestASweepAsksWhetherTheGraphIsGone(t *testing.T) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.GraphKind))
	there.SetNamespace(demo.Namespace)
	there.SetName(demo.Name)
	for reason, c := range map[string]struct {
		graphs []runtime.Object
		want   []string
	}{
		"it is gone":                 {nil, []string{"delete default.demo-g00001"}},
		"only the cache has lost it": {[]runtime.Object{there}, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, c.graphs...)
			w.pass("1", "")
			w.writes = nil
			equal(t, "error", nil, w.controller.sweep(t.Context(), demo, w.state.history.present))
			equal(t, "requests", c.want, w.writes)
		})
	}
}

func TestOnlyWhatHasBeenFoundOutIsAnnounced(t *testing.T) {
	list := []v1alpha1.Condition{{Type: accepted, Reason: "Compiled"}, {Type: ready, Reason: conditions.ReasonAwaiting}}
	equal(t, "conditions", list[:1], decided(list))
}
