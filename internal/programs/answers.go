package programs

import (
	"errors"
	"sync"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kro.run/kro/schema"
)

// answer is what the cluster said about a kind when a spec was compiled.
type answer struct {
	// fingerprint of the kind; empty when it is not served.
	fingerprint string
	// err says that the question could not be answered.
	err error
}

// answers are all kinds that a spec was checked against, and those it missed.
type answers map[kschema.GroupVersionKind]answer

// failure returns the first question, in the order of the kinds' names, that could not be answered.
func (a answers) failure() error {
	var first kschema.GroupVersionKind
	var err error
	for gvk, answer := range a {
		if answer.err != nil && (err == nil || gvk.String() < first.String()) {
			first, err = gvk, answer.err
		}
	}
	return err
}

// outdated asks again and says whether the cluster now answers otherwise. Kinds that were there are asked about only when one may have changed.
// Missing ones always are: not every kind comes from a CRD whose arrival is told.
func (a answers) outdated(kinds schema.Resolver, suspect bool) bool {
	for gvk, old := range a {
		if !suspect && old.fingerprint != "" {
			continue
		}
		if now := ask(kinds, gvk); now.err != nil || now.fingerprint != old.fingerprint {
			return true
		}
	}
	return false
}

func ask(kinds schema.Resolver, gvk kschema.GroupVersionKind) answer {
	kind, err := kinds.Resolve(gvk)
	return answerOf(kind, err)
}

func answerOf(kind *schema.Kind, err error) answer {
	var missing *schema.NotFoundError
	switch {
	case errors.As(err, &missing):
		return answer{}
	case err != nil:
		return answer{err: err}
	}
	return answer{fingerprint: kind.Fingerprint}
}

// recorder notes what a compilation asks, and gives the same answer each time it is asked for the same kind, so that a program is checked against
// one state of a kind and not two.
type recorder struct {
	kinds schema.Resolver
	// note is told of each kind before it is asked for.
	note func(kschema.GroupKind)

	mu      sync.Mutex
	answers answers
	given   map[kschema.GroupVersionKind]given
}

type given struct {
	kind *schema.Kind
	err  error
}

func newRecorder(kinds schema.Resolver, note func(kschema.GroupKind)) *recorder {
	return &recorder{kinds: kinds, note: note, answers: answers{}, given: map[kschema.GroupVersionKind]given{}}
}

// Resolve implements schema.Resolver.
func (r *recorder) Resolve(gvk kschema.GroupVersionKind) (*schema.Kind, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g, ok := r.given[gvk]; ok {
		return g.kind, g.err
	}
	r.note(gvk.GroupKind())
	kind, err := r.kinds.Resolve(gvk)
	r.given[gvk] = given{kind, err}
	r.answers[gvk] = answerOf(kind, err)
	return kind, err
}
