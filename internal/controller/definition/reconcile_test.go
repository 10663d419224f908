package definition

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/revision"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestNewDefinition(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one", "a", "b"))
	_, writes, err := w.reconcile("shop")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "requests", []string{
		"patch ResourceGraphDefinition shop", "create GraphRevision shop-r00001", "create CRD apps.example.com", "status ResourceGraphDefinition shop",
	}, writes)
	status := w.get("shop").Status
	equal(t, "state", v1alpha1.ResourceGraphDefinitionActive, status.State)
	equal(t, "order", []string{"a", "b"}, status.TopologicalOrder)
	equal(t, "number", 1, status.LastIssuedRevision)
	for typ, want := range map[string]string{
		revisionsResolved: "True/Resolved@1 revision 1 compiled and active",
		graphAccepted:     "True/Valid@1 resource graph and schema are valid",
		kindReady:         "True/Ready@1 kind App has been accepted and ready",
		controllerReady:   "True/Running@1 controller is running",
		ready:             "True/Ready@1 ",
	} {
		equal(t, typ, want, w.condition("shop", typ))
	}
	equal(t, "revision served", 1, w.served["shop"].Revision)

	_, writes, err = w.reconcile("shop")
	equal(t, "requests of a pass that changes nothing", 0, len(writes))
	equal(t, "reads of the CRD", 1, w.ensured)
	if err != nil {
		t.Error(err)
	}
}

func TestNewCRDIsAwaitedInSilence(t *testing.T) {
	w := newWorld(t)
	w.hold = true
	w.apply(definition("shop", "one"))
	result, writes, _ := w.reconcile("shop")
	equal(t, "requests", []string{"patch ResourceGraphDefinition shop", "create GraphRevision shop-r00001", "create CRD apps.example.com"}, writes)
	equal(t, "safety net", grace, result.RequeueAfter)
	equal(t, "nothing served before its CRD", 0, len(w.served))

	w.clock.SetTime(w.clock.Now().Add(grace + time.Second))
	_, _, err := w.reconcile("shop")
	equal(t, "when it takes long", "Unknown/WaitingForEstablishment@1 waiting for CRD apps.example.com to be established", w.condition("shop", kindReady))
	equal(t, "error", nil, err)

	w.establish(w.crds["apps.example.com"])
	w.settle("shop")
	equal(t, "state", v1alpha1.ResourceGraphDefinitionActive, w.get("shop").Status.State)
	equal(t, "revision served", 1, w.served["shop"].Revision)
}

func TestNeverCompiled(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one", "bad"))
	w.settle("shop")
	equal(t, graphAccepted, "False/InvalidResourceGraph@1 bad does not fit", w.condition("shop", graphAccepted))
	equal(t, ready, "False/InvalidResourceGraph@1 bad does not fit", w.condition("shop", ready))
	equal(t, kindReady, `Unknown/AwaitingReconciliation@1 condition "KindReady" is awaiting reconciliation`, w.condition("shop", kindReady))
	status := w.get("shop").Status
	equal(t, "state", v1alpha1.ResourceGraphDefinitionInactive, status.State)
	equal(t, "number", 0, status.LastIssuedRevision)
	equal(t, "CRDs", 0, len(w.crds))

	w.apply(definition("shop", "one", "a"))
	w.settle("shop")
	equal(t, "after the fix", "True/Ready@2 ", w.condition("shop", ready))
	equal(t, "number after the fix", 1, w.get("shop").Status.LastIssuedRevision)
}

func TestLastGoodGoesOn(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one", "a"))
	w.settle("shop")
	w.apply(definition("shop", "two", "bad"))
	w.settle("shop")
	equal(t, graphAccepted, "False/InvalidResourceGraph@2 bad does not fit", w.condition("shop", graphAccepted))
	equal(t, revisionsResolved, "True/Resolved@2 revision 1 compiled and active", w.condition("shop", revisionsResolved))
	equal(t, kindReady, "True/Ready@1 kind App has been accepted and ready", w.condition("shop", kindReady))
	equal(t, controllerReady, "True/Running@1 controller is running", w.condition("shop", controllerReady))
	equal(t, "order", nil, w.get("shop").Status.TopologicalOrder)
	equal(t, "revision served", 1, w.served["shop"].Revision)

	w.restart()
	w.settle("shop")
	equal(t, "revision served after a restart", 1, w.served["shop"].Revision)

	w.apply(definition("shop", "one", "a"))
	w.settle("shop")
	equal(t, "taken back", "True/Ready@3 ", w.condition("shop", ready))
	equal(t, "number", 1, w.get("shop").Status.LastIssuedRevision)
}

// TestNewestNoLongerCompiles: a kind has changed while the controller was away.
func TestNewestNoLongerCompiles(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b"} {
		w.apply(definition("shop", "one", id))
		w.settle("shop")
	}
	w.bad["b"] = true
	w.settle("shop")
	equal(t, "what runs goes on", 2, w.served["shop"].Revision)
	equal(t, revisionsResolved, "False/Failed@2 latest graph revision 2 failed compilation; it goes on serving as it was compiled before",
		w.condition("shop", revisionsResolved))

	w.restart()
	w.settle("shop")
	equal(t, "after a restart the newest that compiles", 1, w.served["shop"].Revision)
	equal(t, revisionsResolved, "False/Failed@2 latest graph revision 2 failed compilation; revision 1 goes on serving", w.condition("shop", revisionsResolved))
	equal(t, graphAccepted, "False/InvalidResourceGraph@2 latest graph revision 2 failed compilation: b does not fit", w.condition("shop", graphAccepted))
	equal(t, "state", v1alpha1.ResourceGraphDefinitionInactive, w.get("shop").Status.State)

	w.bad["b"] = false
	w.settle("shop")
	equal(t, "mended without an edit", 2, w.served["shop"].Revision)
	equal(t, ready, "True/Ready@2 ", w.condition("shop", ready))
	equal(t, "no new revision", 2, w.get("shop").Status.LastIssuedRevision)
}

func TestNumbers(t *testing.T) {
	w := newWorld(t)
	w.options.MaxRevisions = 2
	w.restart()
	for _, mark := range []string{"one", "two", "one", "three"} {
		w.apply(definition("shop", mark))
		w.settle("shop")
	}
	equal(t, "each edit with a meaning is a revision", 4, w.get("shop").Status.LastIssuedRevision)
	list, err := revisionsOf(context.Background(), w.client, "shop")
	if err != nil {
		t.Fatal(err)
	}
	l := newLineage(list)
	equal(t, "kept", 2, len(l.live))
	equal(t, "on their way out, held by the finalizer", 2, len(l.leaving))

	r := l.latest().DeepCopy()
	if err := w.client.Delete(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	w.settle("shop")
	equal(t, "the newest leaves", "Unknown/WaitingForGraphRevisionSettlement@4 waiting for terminating graph revisions to settle",
		w.condition("shop", revisionsResolved))
	equal(t, "and serves until then", 4, w.served["shop"].Revision)
	equal(t, "state", v1alpha1.ResourceGraphDefinitionActive, w.get("shop").Status.State)

	w.dropFinalizers(r.Name)
	w.settle("shop")
	equal(t, "numbers are never used twice", 5, w.get("shop").Status.LastIssuedRevision)
	equal(t, "served", 5, w.served["shop"].Revision)
}

func (w *world) dropFinalizers(revision string) {
	w.t.Helper()
	r := &internalv1alpha1.GraphRevision{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: revision}, r); err != nil {
		w.t.Fatal(err)
	}
	r.Finalizers = nil
	if err := w.client.Update(context.Background(), r); err != nil {
		w.t.Fatal(err)
	}
}

func TestMovedResources(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one", "a", "b"))
	w.settle("shop")
	w.apply(definition("shop", "one", "b", "a"))
	w.settle("shop")
	equal(t, "no new revision", 1, w.get("shop").Status.LastIssuedRevision)
	equal(t, "the order follows the document", []string{"b", "a"}, w.get("shop").Status.TopologicalOrder)
	equal(t, ready, "True/Ready@2 ", w.condition("shop", ready))
}

func TestStaleCacheOfRevisions(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	// Another process has issued the revision of this very spec, and the cache shows neither it nor the number.
	rgd := w.get("shop")
	rgd.Status.LastIssuedRevision = 0
	if err := w.client.Status().Update(context.Background(), rgd); err != nil {
		t.Fatal(err)
	}
	w.restart()
	p := w.controller.open(w.get("shop"))
	p.hash = mustHash(t, p.rgd)
	got, err := w.controller.issue(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the revision that is there", "shop-r00001", got.Name)
	equal(t, "number", 1, p.rgd.Status.LastIssuedRevision)
}

func TestOwnWriteStandsIn(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	r := &internalv1alpha1.GraphRevision{}
	r.Spec.Snapshot.Name, r.UID, r.Spec.Revision = "shop", "new", 7
	w.controller.notes.issue(r)
	equal(t, "before the cache shows it", 1, len(w.controller.notes.withIssued("shop", nil)))
	equal(t, "its own event wakes nobody", true, w.controller.notes.isIssued(r))
	equal(t, "once the cache shows it", 1, len(w.controller.notes.withIssued("shop", []*internalv1alpha1.GraphRevision{r})))
	equal(t, "it is forgotten", 0, len(w.controller.notes.withIssued("shop", nil)))
}

func TestRefusedCRD(t *testing.T) {
	w := newWorld(t)
	w.options.MaxRevisions = 1
	w.restart()
	first, second := definition("shop", "one"), definition("shop", "two")
	first.Spec.Schema.ShortNames = []string{"size"}
	w.apply(first)
	w.settle("shop")
	w.apply(second)
	w.settle("shop")
	equal(t, kindReady, "False/Failed@2 cannot update CRD apps.example.com: breaking changes detected: size: Property size was removed", w.condition("shop", kindReady))
	equal(t, graphAccepted, "True/Valid@2 resource graph and schema are valid", w.condition("shop", graphAccepted))
	equal(t, "state", v1alpha1.ResourceGraphDefinitionInactive, w.get("shop").Status.State)
	equal(t, "the pair of program and CRD that worked", 1, w.served["shop"].Revision)

	w.restart()
	w.settle("shop")
	equal(t, "after a restart the revision that fits the CRD", 1, w.served["shop"].Revision)

	rgd := w.get("shop")
	rgd.Annotations = map[string]string{v1alpha1.AllowBreakingChangesAnnotation: "true"}
	if err := w.client.Update(context.Background(), rgd); err != nil {
		t.Fatal(err)
	}
	w.settle("shop")
	equal(t, "once it is allowed", 2, w.served["shop"].Revision)
	equal(t, ready, "True/Ready@2 ", w.condition("shop", ready))
}

func TestNewSchemaIsServedOnceItIsKnown(t *testing.T) {
	w := newWorld(t)
	first, second := definition("shop", "one"), definition("shop", "two")
	second.Spec.Schema.ShortNames = []string{"size"}
	w.apply(first)
	w.settle("shop")
	w.shown = map[string]int64{"apps.example.com": 1}
	w.apply(second)
	result, writes, err := w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"create GraphRevision shop-r00002", "update CRD apps.example.com"}, writes)
	equal(t, "safety net", grace, result.RequeueAfter)
	equal(t, "the old program until then", 1, w.served["shop"].Revision)

	_, writes, err = w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "requests of a pass in between", 0, len(writes))
	equal(t, "the old program still", 1, w.served["shop"].Revision)

	w.shown = nil
	w.settle("shop")
	equal(t, "served", 2, w.served["shop"].Revision)
	equal(t, ready, "True/Ready@2 ", w.condition("shop", ready))
}

func TestTwoOfOneKind(t *testing.T) {
	const refusal = "False/Failed@1 failed to update CRD apps.example.com: CRD is owned by another ResourceGraphDefinition first"
	w := newWorld(t)
	w.apply(definition("first", "one"))
	w.settle("first")
	w.apply(definition("second", "two"))
	w.settle("second")
	equal(t, kindReady, refusal, w.condition("second", kindReady))
	if _, served := w.served["second"]; served {
		t.Error("the second is served")
	}
	equal(t, "who waits for the CRD", 2, len(w.controller.notes.claimants("apps.example.com")))

	w.apply(definition("third", "three"))
	w.settle("third")
	w.delete("third")
	_, writes, err := w.reconcile("third")
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"patch ResourceGraphDefinition third"}, writes)
	equal(t, "the first is served", 1, w.served["first"].Revision)
	equal(t, "withdrawn", 0, len(w.withdrawn))

	w.delete("first")
	if _, _, err := w.reconcile("first"); err != nil {
		t.Fatal(err)
	}
	w.settle("second")
	equal(t, "the second takes over when the first has gone", "True/Ready@1 ", w.condition("second", ready))
	equal(t, "it is served", 1, w.served["second"].Revision)
	equal(t, "the CRD is its", "second", w.crds["apps.example.com"].Labels[v1alpha1.DefinitionNameLabel])
}

func TestFailureThatMayPass(t *testing.T) {
	w := newWorld(t)
	w.fail = errUnreachable
	w.apply(definition("shop", "one"))
	_, _, err := w.reconcile("shop")
	if !errors.Is(err, errUnreachable) {
		t.Errorf("error %v, want one that brings a retry", err)
	}
	equal(t, "what has been found out is written", "False/Failed@1 unreachable", w.condition("shop", kindReady))
	equal(t, graphAccepted, "True/Valid@1 resource graph and schema are valid", w.condition("shop", graphAccepted))
	equal(t, "number", 1, w.get("shop").Status.LastIssuedRevision)
	w.fail = nil
	w.settle("shop")
	equal(t, "once it has passed", "True/Ready@1 ", w.condition("shop", ready))
	equal(t, "number", 1, w.get("shop").Status.LastIssuedRevision)
}

func TestFinalizerTakenAwayByHand(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	rgd := w.get("shop")
	rgd.Finalizers = nil
	if err := w.client.Update(context.Background(), rgd); err != nil {
		t.Fatal(err)
	}
	w.delete("shop")
	_, writes, err := w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "requests", 0, len(writes))
	equal(t, "withdrawn", []string{"shop"}, w.withdrawn)
	equal(t, "who waits for the CRD", 0, len(w.controller.notes.claimants("apps.example.com")))
}

func TestForeignCRD(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.crds["apps.example.com"] = &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "apps.example.com"}}
	w.settle("shop")
	equal(t, kindReady, "False/Failed@1 failed to update CRD apps.example.com: CRD already exists and is not owned by KRO", w.condition("shop", kindReady))
	delete(w.crds, "apps.example.com")
	w.settle("shop")
	equal(t, "once it is gone", "True/Ready@1 ", w.condition("shop", ready))
}

func TestCRDEditedByHand(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	edited := w.crds["apps.example.com"].DeepCopy()
	edited.Spec.Names.ShortNames = []string{"ap"}
	w.put("update", edited)
	_, writes, err := w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"update CRD apps.example.com"}, writes)

	delete(w.crds, "apps.example.com")
	_, writes, err = w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "deleted by hand", []string{"create CRD apps.example.com"}, writes)
}

func (w *world) delete(name string) {
	w.t.Helper()
	if err := w.client.Delete(context.Background(), w.get(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) gone(name string) bool {
	return apierrors.IsNotFound(w.client.Get(context.Background(), types.NamespacedName{Name: name}, &v1alpha1.ResourceGraphDefinition{}))
}

func TestDeletionWaitsForInstances(t *testing.T) {
	w := newWorld(t)
	w.options.AllowCRDDeletion = true
	w.restart()
	w.apply(definition("shop", "one"))
	w.settle("shop")
	w.instances["apps.example.com"] = 2
	w.delete("shop")
	_, _, err := w.reconcile("shop")
	equal(t, "error", nil, err)
	if got := w.condition("shop", ready); !strings.HasPrefix(got, "False/DeletionBlocked@") || !strings.HasSuffix(got, " 2 instances of App left; the definition goes on serving until they are deleted") {
		t.Errorf("Ready is %q", got)
	}
	equal(t, "state", v1alpha1.ResourceGraphDefinitionActive, w.get("shop").Status.State)

	w.restart()
	_, _, err = w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "served after a restart too", 1, w.served["shop"].Revision)

	w.instances["apps.example.com"] = 1
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	_, _, err = w.reconcile("shop")
	equal(t, "error", nil, err)
	if got := w.condition("shop", ready); !strings.HasSuffix(got, " 1 instance of App left; the definition goes on serving until they are deleted") {
		t.Errorf("Ready is %q", got)
	}
	w.instances["apps.example.com"] = 0
	_, writes, err := w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"delete CRD apps.example.com", "patch ResourceGraphDefinition shop"}, writes)
	equal(t, "withdrawn", []string{"shop"}, w.withdrawn)
	equal(t, "gone", true, w.gone("shop"))
}

func TestDeletionKeepsTheCRD(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	w.delete("shop")
	_, writes, err := w.reconcile("shop")
	equal(t, "error", nil, err)
	equal(t, "requests", []string{"patch ResourceGraphDefinition shop"}, writes)
	equal(t, "CRDs", 1, len(w.crds))
	equal(t, "gone", true, w.gone("shop"))
}

func TestDeletionOfWhatNeverWorked(t *testing.T) {
	for reason, rgd := range map[string]*v1alpha1.ResourceGraphDefinition{
		"never compiled":   definition("shop", "one", "bad"),
		"without a schema": {ObjectMeta: definition("shop", "").ObjectMeta},
	} {
		w := newWorld(t)
		w.apply(rgd)
		w.settle("shop")
		if got := w.condition("shop", graphAccepted); !strings.HasPrefix(got, "False/InvalidResourceGraph@1") {
			t.Errorf("%s: GraphAccepted is %q", reason, got)
		}
		w.delete("shop")
		_, _, err := w.reconcile("shop")
		equal(t, reason, nil, err)
		equal(t, reason, true, w.gone("shop"))
	}
}

func TestRecreatedWhileNobodyLooked(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	rgd := w.get("shop")
	rgd.UID = "another"
	if err := w.client.Update(context.Background(), rgd); err != nil {
		t.Fatal(err)
	}
	w.settle("shop")
	equal(t, "the old one is withdrawn", []string{"shop"}, w.withdrawn)
	equal(t, "the new one is served", types.UID("another"), w.served["shop"].UID)
}

func TestClusterCannotBeAsked(t *testing.T) {
	w := newWorld(t)
	w.unreachable = true
	w.apply(definition("shop", "one"))
	_, _, err := w.reconcile("shop")
	if !errors.Is(err, errUnreachable) {
		t.Errorf("error %v, want one that brings a retry", err)
	}
	equal(t, graphAccepted, "Unknown/SchemaUnavailable@1 unreachable", w.condition("shop", graphAccepted))
	w.unreachable = false
	w.settle("shop")
	equal(t, "once it can", "True/Ready@1 ", w.condition("shop", ready))

	w.unreachable = true
	_, writes, err := w.reconcile("shop")
	if !errors.Is(err, errUnreachable) {
		t.Errorf("error %v, want one that brings a retry", err)
	}
	equal(t, "a verdict that stands is not touched", 0, len(writes))
	equal(t, "what runs goes on", 1, w.served["shop"].Revision)
}

func TestRecreatedDefinitionTakesItsRevisionOver(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	old := w.get("shop").UID
	w.delete("shop")
	if _, _, err := w.reconcile("shop"); err != nil {
		t.Fatal(err)
	}
	again := definition("shop", "one")
	w.apply(again)
	rgd := w.get("shop")
	rgd.UID = "another"
	if err := w.client.Update(context.Background(), rgd); err != nil {
		t.Fatal(err)
	}
	w.settle("shop")
	list, err := revisionsOf(context.Background(), w.client, "shop")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "revisions", 1, len(list))
	equal(t, "owners", 1, len(list[0].OwnerReferences))
	equal(t, "owner", types.UID("another"), list[0].OwnerReferences[0].UID)
	equal(t, "number", 1, w.get("shop").Status.LastIssuedRevision)
	if old == "another" {
		t.Error("the definition is not another one")
	}
}

// A revision that could not be taken over is not forgotten: a conflict may be the answer of an admission webhook, of which no event tells.
func TestTakingARevisionOverIsTriedAgainAfterAConflict(t *testing.T) {
	w := newWorld(t)
	w.apply(definition("shop", "one"))
	w.settle("shop")
	rgd := w.get("shop")
	rgd.UID = "another"
	if err := w.client.Update(context.Background(), rgd); err != nil {
		t.Fatal(err)
	}
	w.refuse = apierrors.NewConflict(schema.GroupResource{Resource: "graphrevisions"}, "shop", errors.New("refused"))
	if _, _, err := w.reconcile("shop"); err == nil {
		t.Error("the pass is not tried again")
	}
	equal(t, "state", "Active", string(w.get("shop").Status.State))
	w.settle("shop")
	list, err := revisionsOf(context.Background(), w.client, "shop")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "owner", types.UID("another"), list[0].OwnerReferences[0].UID)
}

func mustHash(t *testing.T, rgd *v1alpha1.ResourceGraphDefinition) string {
	t.Helper()
	hash, err := revision.Hash(&rgd.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}
