package definition

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/internal/kinds"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
)

func TestDefinitionChanged(t *testing.T) {
	annotated := func(key, value string) *v1alpha1.ResourceGraphDefinition {
		rgd := definition("shop", "one")
		rgd.Annotations = map[string]string{key: value}
		return rgd
	}
	edited, deleted, labelled, written := definition("shop", "one"), definition("shop", "one"), definition("shop", "one"), definition("shop", "one")
	edited.Generation = 2
	deleted.DeletionTimestamp = &metav1.Time{}
	labelled.Labels = map[string]string{"an": "edit"}
	written.Finalizers, written.Status.State = []string{v1alpha1.Finalizer}, v1alpha1.ResourceGraphDefinitionActive
	plain := definition("shop", "one")
	cases := map[string]struct {
		from, to *v1alpha1.ResourceGraphDefinition
		want     bool
	}{
		"an edit of the spec":                    {plain, edited, true},
		"the mark of deletion":                   {plain, deleted, true},
		"leave for breaking changes":             {plain, annotated(v1alpha1.AllowBreakingChangesAnnotation, "true"), true},
		"leave taken back":                       {annotated(v1alpha1.AllowBreakingChangesAnnotation, "true"), plain, true},
		"only the exact value is leave":          {plain, annotated(v1alpha1.AllowBreakingChangesAnnotation, "yes"), false},
		"adoption":                               {plain, annotated(v1alpha1.AdoptAnnotation, "false"), true},
		"labels":                                 {plain, labelled, false},
		"what the controller has written itself": {plain, written, false},
	}
	c := newWorld(t).controller
	for reason, tc := range cases {
		if got := c.definitionChanged(event.UpdateEvent{ObjectOld: tc.from, ObjectNew: tc.to}); got != tc.want {
			t.Errorf("%s: wakes the definition: %t, want %t", reason, got, tc.want)
		}
	}
}

func TestRevisionEvents(t *testing.T) {
	c := newWorld(t).controller
	own, foreign := &internalv1alpha1.GraphRevision{}, &internalv1alpha1.GraphRevision{}
	own.UID, own.Spec.Snapshot.Name = "own", "shop"
	foreign.UID, foreign.Spec.Snapshot.Name = "foreign", "shop"
	c.notes.issue(own)
	equal(t, "its own creation", false, c.revisionCreated(event.CreateEvent{Object: own}))
	equal(t, "a revision made by somebody else", true, c.revisionCreated(event.CreateEvent{Object: foreign}))
	equal(t, "a deletion", true, c.revisionGone(event.DeleteEvent{Object: own}))
	equal(t, "no memory of what is gone", false, c.notes.isIssued(own))

	verdict, orphaned := own.DeepCopy(), own.DeepCopy()
	verdict.Status.TopologicalOrder = []string{"a"}
	orphaned.OwnerReferences = []metav1.OwnerReference{{Name: "other"}}
	equal(t, "a verdict", false, revisionChanged(event.UpdateEvent{ObjectOld: own, ObjectNew: verdict}))
	equal(t, "another owner", true, revisionChanged(event.UpdateEvent{ObjectOld: own, ObjectNew: orphaned}))
}

func TestWakingFromOutside(t *testing.T) {
	c := newWorld(t).controller
	c.notes.claim("shop", "apps.example.com")
	c.CRDChanged(kinds.Change{Name: "apps.example.com"}) // before the start: all definitions are gone through then
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := (&catalogSource{waker: c.waker, catalog: c.Catalog}).Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	c.CRDChanged(kinds.Change{Name: "others.example.com"})
	equal(t, "a CRD that nobody wants", 0, queue.Len())
	c.instanceGone("shop")
	equal(t, "an instance of a definition that stays", 0, queue.Len())
	c.CRDChanged(kinds.Change{Name: "apps.example.com"})
	equal(t, "its CRD", 1, queue.Len())
	c.notes.leave("leaving")
	c.instanceGone("leaving")
	equal(t, "an instance of a definition that is being deleted", 2, queue.Len())
}
