package crd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

var crds = kschema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// server is an API server with room for one CRD. It writes JSON its own way, fills in the conversion, and counts requests.
type server struct {
	t        *testing.T
	crd      *apiextensionsv1.CustomResourceDefinition
	requests []string
	// before runs ahead of a request and may change the CRD, as somebody else would.
	before func(verb string) error
}

func (s *server) request(verb string) error {
	s.requests = append(s.requests, verb)
	if s.before != nil {
		return s.before(verb)
	}
	return nil
}

func (s *server) store(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	raw, err := json.Marshal(crd)
	if err != nil {
		s.t.Fatalf("marshal: %v", err)
	}
	stored := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(raw, stored); err != nil {
		s.t.Fatalf("unmarshal: %v", err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&stored.Spec)
	version := 0
	if s.crd != nil {
		version, _ = strconv.Atoi(s.crd.ResourceVersion)
	}
	stored.ResourceVersion = strconv.Itoa(version + 1)
	s.crd = stored
	return stored.DeepCopy()
}

func (s *server) Get(_ context.Context, name string, _ metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err := s.request("get"); err != nil {
		return nil, err
	}
	if s.crd == nil || s.crd.Name != name {
		return nil, apierrors.NewNotFound(crds, name)
	}
	return s.crd.DeepCopy(), nil
}

func (s *server) Create(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, _ metav1.CreateOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err := s.request("create"); err != nil {
		return nil, err
	}
	if s.crd != nil {
		return nil, apierrors.NewAlreadyExists(crds, crd.Name)
	}
	return s.store(crd), nil
}

func (s *server) Update(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, _ metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err := s.request("update"); err != nil {
		return nil, err
	}
	if s.crd == nil {
		return nil, apierrors.NewNotFound(crds, crd.Name)
	}
	if s.crd.ResourceVersion != crd.ResourceVersion {
		return nil, apierrors.NewConflict(crds, crd.Name, errors.New("changed"))
	}
	return s.store(crd), nil
}

var shop = Owner{Name: "shop", UID: "uid-1", Version: "v1"}

func dress(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, owner Owner) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	dressed, err := Dress(crd, owner)
	if err != nil {
		t.Fatalf("Dress: %v", err)
	}
	return dressed
}

const plainStatus = `{type: object}`

// want is the CRD that a definition asks for: one field a of this schema, these labels and annotations.
func want(t *testing.T, a string, labels, annotations map[string]string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := thing(t, object(a), plainStatus)
	crd.Labels, crd.Annotations = labels, annotations
	return crd
}

// served is a server on which a definition has been served.
func served(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, owner Owner) *server {
	t.Helper()
	s := &server{t: t}
	if _, err := Ensure(t.Context(), s, dress(t, crd, owner), Options{}); err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	s.requests = nil
	return s
}

func TestEnsureCreatesOnceAndThenLeavesItAlone(t *testing.T) {
	s := &server{t: t}
	// What a server writes in another way must not be seen as a change.
	crd := want(t, `{type: string, enum: ["a&b", "a<b"], default: "a<b", description: "<b> & more"}`, nil, nil)
	for i, action := range []Action{Created, Unchanged, Unchanged} {
		result, err := Ensure(t.Context(), s, dress(t, crd, shop), Options{})
		if err != nil || result.Action != action || result.CRD == nil {
			t.Fatalf("Ensure %d: %s, %v; want %s; changes %v", i, result.Action, err, action, result.Changes.Changes)
		}
	}
	if diff := cmp.Diff([]string{"get", "create", "get", "get"}, s.requests); diff != "" {
		t.Errorf("requests: -want +got:\n%s", diff)
	}
	labels := map[string]string{
		"kro.run/owned": "true", "kro.run/kro-version": "v1", "kro.run/resource-graph-definition-id": "uid-1", "kro.run/resource-graph-definition-name": "shop",
	}
	if diff := cmp.Diff(labels, s.crd.Labels); diff != "" {
		t.Errorf("labels: -want +got:\n%s", diff)
	}
	if len(s.crd.OwnerReferences) > 0 || len(s.crd.Finalizers) > 0 {
		t.Errorf("owner references %v, finalizers %v: want none", s.crd.OwnerReferences, s.crd.Finalizers)
	}
}

func TestEnsureTakesACachedCopy(t *testing.T) {
	s := served(t, want(t, `{type: string}`, nil, nil), shop)
	cached := s.crd.DeepCopy()
	if _, err := Ensure(t.Context(), s, dress(t, want(t, `{type: string}`, nil, nil), shop), Options{Current: cached}); err != nil || len(s.requests) > 0 {
		t.Fatalf("Ensure of the same: %v, requests %v; want none", err, s.requests)
	}
	next := dress(t, want(t, `{type: string, description: more}`, nil, nil), shop)
	if _, err := Ensure(t.Context(), s, next, Options{Current: cached}); err != nil || !slices.Equal(s.requests, []string{"update"}) {
		t.Fatalf("Ensure of another: %v, requests %v; want one update", err, s.requests)
	}
	// The cache lags behind the write: it is found out, and the CRD read.
	s.requests = nil
	again := dress(t, want(t, `{type: string, description: most}`, nil, nil), shop)
	result, err := Ensure(t.Context(), s, again, Options{Current: cached})
	if err != nil || result.Action != Updated || !slices.Equal(s.requests, []string{"update", "get", "update"}) {
		t.Fatalf("Ensure with a stale copy: %s, %v, requests %v", result.Action, err, s.requests)
	}
	// It was deleted meanwhile.
	s.requests, s.crd = nil, nil
	result, err = Ensure(t.Context(), s, next, Options{Current: cached})
	if err != nil || result.Action != Created || !slices.Equal(s.requests, []string{"update", "get", "create"}) {
		t.Fatalf("Ensure of a deleted one: %s, %v, requests %v", result.Action, err, s.requests)
	}
}

func TestEnsureWritesEveryChangeInOneRequest(t *testing.T) {
	base := func() *apiextensionsv1.CustomResourceDefinition { return want(t, `{type: string}`, nil, nil) }
	cases := []struct {
		reason string
		edit   func(*apiextensionsv1.CustomResourceDefinition)
	}{
		{"columns", func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "A", Type: "string", JSONPath: ".spec.a"}}
		}},
		{"a label", func(c *apiextensionsv1.CustomResourceDefinition) { c.Labels = map[string]string{"only": "this"} }},
		{"an annotation", func(c *apiextensionsv1.CustomResourceDefinition) { c.Annotations = map[string]string{"only": "this"} }},
		{"short names", func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.ShortNames = []string{"th"} }},
		{"a new field", func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["b"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			s := served(t, base(), shop)
			next := base()
			c.edit(next)
			result, err := Ensure(t.Context(), s, dress(t, next, shop), Options{})
			if err != nil || result.Action != Updated || !slices.Equal(s.requests, []string{"get", "update"}) {
				t.Fatalf("Ensure: %s, %v, requests %v", result.Action, err, s.requests)
			}
			if !Compare(next, s.crd).Empty() {
				t.Errorf("the CRD still differs: %v", Compare(next, s.crd).Changes)
			}
			if result, err = Ensure(t.Context(), s, dress(t, next, shop), Options{}); err != nil || result.Action != Unchanged {
				t.Errorf("Ensure again: %s, %v", result.Action, err)
			}
		})
	}
}

func TestEnsureRemovesWhatTheDefinitionDropped(t *testing.T) {
	s := served(t, want(t, `{type: string}`, map[string]string{"tier": "gold", "gone": "soon"}, map[string]string{"example.com/note": "x"}), shop)
	s.crd.Labels["foreign"] = "yes"
	s.crd.Annotations["example.com/foreign"] = "yes"
	if _, err := Ensure(t.Context(), s, dress(t, want(t, `{type: string}`, map[string]string{"tier": "silver"}, nil), shop), Options{}); err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	labels := []string{s.crd.Labels["tier"], s.crd.Labels["gone"], s.crd.Labels["foreign"]}
	annotations := []string{s.crd.Annotations["example.com/note"], s.crd.Annotations["example.com/foreign"]}
	if diff := cmp.Diff([][]string{{"silver", "", "yes"}, {"", "yes"}}, [][]string{labels, annotations}); diff != "" {
		t.Errorf("labels and annotations: -want +got:\n%s", diff)
	}
}

func TestDressKeepsKrosOwnKeys(t *testing.T) {
	long := strings.Repeat("n", 70)
	crd := want(t, `{type: string}`,
		map[string]string{"kro.run/owned": "maybe", "kro.run/resource-graph-definition-name": "other", "team": "storage"},
		map[string]string{"internal.kro.run/crd-metadata": "x", "internal.kro.run/resource-graph-definition-name": "y", "note": "z"})
	before := crd.DeepCopy()
	got := dress(t, crd, Owner{Name: long, UID: "u", Version: "v"})
	if diff := cmp.Diff(before, crd); diff != "" {
		t.Errorf("Dress changed its argument: %s", diff)
	}
	if got.Labels["kro.run/owned"] != "true" || got.Labels["team"] != "storage" || !strings.HasPrefix(got.Labels["kro.run/resource-graph-definition-name"], "h-") {
		t.Errorf("labels %v", got.Labels)
	}
	if got.Annotations["internal.kro.run/resource-graph-definition-name"] != long || OwnerName(got) != long || !BelongsTo(got, long) || BelongsTo(got, "other") {
		t.Errorf("annotations %v, owner %q", got.Annotations, OwnerName(got))
	}
	r := recordOf(got)
	if diff := cmp.Diff([][]string{{"team"}, {"note"}}, [][]string{r.Labels, r.Annotations}); diff != "" {
		t.Errorf("record: -want +got:\n%s", diff)
	}
}

func TestEnsureRefusesBreakingChanges(t *testing.T) {
	s := served(t, want(t, `{type: string}`, nil, nil), shop)
	before := s.crd.DeepCopy()
	next := dress(t, want(t, `{type: integer}`, map[string]string{"new": "label"}, nil), shop)
	result, err := Ensure(t.Context(), s, next, Options{})
	var breaking *BreakingError
	if !errors.As(err, &breaking) || err.Error() != "cannot update CRD things.example.com: breaking changes detected: spec.a: Type changed from string to integer" {
		t.Fatalf("Ensure: %v", err)
	}
	if result.CRD == nil || result.Changes.Empty() {
		t.Errorf("the result does not say what the cluster has: %+v", result)
	}
	if diff := cmp.Diff(before, s.crd); diff != "" {
		t.Errorf("the CRD was touched: %s", diff)
	}
	if _, err := Ensure(t.Context(), s, next, Options{AllowBreaking: true}); err != nil || !Compare(next, s.crd).Empty() {
		t.Errorf("Ensure, allowed: %v", err)
	}
}

func TestEnsurePutsBackWhatWasEditedByHand(t *testing.T) {
	desired := dress(t, want(t, `{type: string}`, nil, nil), shop)
	s := served(t, want(t, `{type: string}`, nil, nil), shop)
	open := true
	s.crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	s.crd.Spec.Names.ShortNames = []string{"th"}
	s.crd.Annotations["example.com/mark"] = "first"
	result, err := Ensure(t.Context(), s, desired, Options{})
	if err != nil || result.Action != Updated || !result.Restored {
		t.Fatalf("Ensure: %s, restored %t, %v", result.Action, result.Restored, err)
	}
	if !Compare(desired, s.crd).Empty() || s.crd.Annotations["example.com/mark"] != "first" {
		t.Errorf("not put back: %v, annotations %v", Compare(desired, s.crd).Changes, s.crd.Annotations)
	}
	// A breaking change of the definition does not pass as an edit by hand.
	if _, err := Ensure(t.Context(), s, dress(t, want(t, `{type: integer}`, nil, nil), shop), Options{}); err == nil {
		t.Error("Ensure let a breaking change through")
	}
}

func TestEnsureAdopts(t *testing.T) {
	crd := want(t, `{type: string}`, nil, nil)
	s := served(t, crd, shop)
	again := shop
	again.UID = "uid-2"
	result, err := Ensure(t.Context(), s, dress(t, crd, again), Options{})
	if err != nil || !result.Adopted || result.Action != Updated || s.crd.Labels["kro.run/resource-graph-definition-id"] != "uid-2" {
		t.Errorf("Ensure for a definition made again: %s, adopted %t, %v, labels %v", result.Action, result.Adopted, err, s.crd.Labels)
	}
}

func TestEnsureLeavesAnotherVersionsLabelUntilItWrites(t *testing.T) {
	crd := want(t, `{type: string}`, nil, nil)
	s := served(t, crd, shop)
	newer := shop
	newer.Version = "v2"
	if result, err := Ensure(t.Context(), s, dress(t, crd, newer), Options{}); err != nil || result.Action != Unchanged {
		t.Errorf("Ensure: %s, %v", result.Action, err)
	}
}

func TestEnsureTakesOverFromOtherReleases(t *testing.T) {
	crd := want(t, `{type: string}`, map[string]string{"team": "x"}, nil)
	s := served(t, crd, shop)
	delete(s.crd.Annotations, "internal.kro.run/crd-metadata")
	result, err := Ensure(t.Context(), s, dress(t, crd, shop), Options{})
	if err != nil || result.Action != Updated || !result.Changes.Empty() {
		t.Fatalf("Ensure: %s, %v, %v", result.Action, result.Changes.Changes, err)
	}
	delete(s.crd.Annotations, "internal.kro.run/crd-metadata")
	if _, err := Ensure(t.Context(), s, dress(t, want(t, `{type: integer}`, nil, nil), shop), Options{}); err == nil {
		t.Error("Ensure let a breaking change through")
	}
}

func TestEnsureRespectsOthers(t *testing.T) {
	desired := func(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
		return dress(t, want(t, `{type: string, description: mine}`, nil, nil), shop)
	}
	cases := []struct {
		reason string
		labels map[string]string
		err    string
	}{
		{"nobody's", nil, "failed to update CRD things.example.com: CRD already exists and is not owned by KRO"},
		{"said not to be kro's", map[string]string{"kro.run/owned": "false", "app.kubernetes.io/managed-by": "kro"}, "failed to update CRD things.example.com: CRD already exists and is not owned by KRO"},
		{"another definition's", map[string]string{"kro.run/owned": "true", "kro.run/resource-graph-definition-name": "first"}, "failed to update CRD things.example.com: CRD is owned by another ResourceGraphDefinition first"},
		{"kro's, from before the label", map[string]string{"app.kubernetes.io/managed-by": "kro"}, ""},
		{"kro's, the name taken off by hand", map[string]string{"kro.run/owned": "true"}, ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			s := &server{t: t}
			theirs := want(t, `{type: string}`, c.labels, nil)
			s.store(theirs)
			_, err := Ensure(t.Context(), s, desired(t), Options{AllowBreaking: true})
			if got := fmt.Sprint(err); c.err != "" && got != c.err || c.err == "" && err != nil {
				t.Errorf("Ensure: %v, want %q", err, c.err)
			}
			var ownership *OwnershipError
			if touched := s.crd.ResourceVersion != "1"; touched != (c.err == "") || errors.As(err, &ownership) != (c.err != "") {
				t.Errorf("touched %t, error %T", touched, err)
			}
		})
	}
}

func TestEnsureDoesNotTouchACRDOnItsWayOut(t *testing.T) {
	s := served(t, want(t, `{type: string}`, nil, nil), shop)
	s.crd.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	_, err := Ensure(t.Context(), s, dress(t, want(t, `{type: string, description: x}`, nil, nil), shop), Options{})
	var deleting *DeletingError
	if !errors.As(err, &deleting) || !slices.Equal(s.requests, []string{"get"}) {
		t.Errorf("Ensure: %v, requests %v", err, s.requests)
	}
}

func TestEnsureSaysWhatItAttempted(t *testing.T) {
	cases := []struct {
		verb, want string
	}{
		{"get", "failed to check for existing CRD: boom"},
		{"create", "failed to create CRD: boom"},
		{"update", "failed to patch CRD: boom"},
	}
	for _, c := range cases {
		t.Run(c.verb, func(t *testing.T) {
			s := &server{t: t}
			if c.verb == "update" {
				s = served(t, want(t, `{type: string}`, nil, nil), shop)
			}
			s.before = func(verb string) error {
				if verb == c.verb {
					return errors.New("boom")
				}
				return nil
			}
			_, err := Ensure(t.Context(), s, dress(t, want(t, `{type: string, description: x}`, nil, nil), shop), Options{})
			if fmt.Sprint(err) != c.want {
				t.Errorf("Ensure: %v, want %s", err, c.want)
			}
		})
	}
}

func TestEnsureStartsOverWhenSomebodyElseWasFaster(t *testing.T) {
	s := &server{t: t}
	desired := dress(t, want(t, `{type: string}`, nil, nil), shop)
	s.before = func(verb string) error {
		if verb == "create" && s.crd == nil {
			s.store(desired)
		}
		return nil
	}
	result, err := Ensure(t.Context(), s, desired, Options{})
	if err != nil || result.Action != Unchanged || !slices.Equal(s.requests, []string{"get", "create", "get"}) {
		t.Errorf("Ensure: %s, %v, requests %v", result.Action, err, s.requests)
	}
	// Somebody who is faster every time does not keep the caller for ever.
	s.requests = nil
	n := 0
	s.before = func(verb string) error {
		if verb == "update" {
			n++
			s.crd.ResourceVersion = strconv.Itoa(100 + n)
		}
		return nil
	}
	_, err = Ensure(t.Context(), s, dress(t, want(t, `{type: string, description: x}`, nil, nil), shop), Options{})
	if !apierrors.IsConflict(err) || n != attempts {
		t.Errorf("Ensure: %v after %d attempts", err, n)
	}
}

func TestEstablishedAndRefusal(t *testing.T) {
	conditions := func(conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
		crd := want(t, `{type: string}`, nil, nil)
		crd.Status.Conditions = conditions
		return crd
	}
	type condition = apiextensionsv1.CustomResourceDefinitionCondition
	cases := []struct {
		reason      string
		crd         *apiextensionsv1.CustomResourceDefinition
		established bool
		refusal     string
	}{
		{"new", conditions(), false, ""},
		{"served", conditions(condition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue}, condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}), true, ""},
		{"names taken", conditions(condition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Reason: "KindConflict", Message: "Thing is already in use"}), false,
			"CRD things.example.com is not served: KindConflict: Thing is already in use"},
		{"not structural", conditions(condition{Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue, Reason: "Violations", Message: "m"}), false,
			"CRD things.example.com is not served: Violations: m"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if got := Established(c.crd); got != c.established {
				t.Errorf("Established = %t", got)
			}
			if got := Refusal(c.crd); got != c.refusal {
				t.Errorf("Refusal = %q, want %q", got, c.refusal)
			}
		})
	}
}
