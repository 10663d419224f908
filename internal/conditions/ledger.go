package conditions

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kro.run/kro/api/v1alpha1"
)

// Reasons that the engine itself writes.
const (
	// ReasonAwaiting stands in conditions that no reconcile has found out anything about.
	ReasonAwaiting = "AwaitingReconciliation"
	// ReasonReady stands in a root whose dependents all hold.
	ReasonReady = "Ready"
)

// Types declares the conditions of a kind of object.
type Types struct {
	// Root sums up the dependents.
	Root string
	// Dependents must all be True for the root to be True. Their order decides between conditions that changed in the same second.
	Dependents []string
	// Retired are types of older releases, which are removed.
	Retired []string
}

// Subject holds the facts about an object that its conditions depend on.
type Subject struct {
	Generation int64
	Created    time.Time
	Deleting   bool
}

// Of reads the facts from an object.
func Of(obj metav1.Object) Subject {
	return Subject{
		Generation: obj.GetGeneration(),
		Created:    obj.GetCreationTimestamp().Time,
		Deleting:   obj.GetDeletionTimestamp() != nil,
	}
}

// Ledger is the list of conditions of one object during one reconcile. It is not safe for concurrent use.
type Ledger struct {
	types   Types
	subject Subject
	now     metav1.Time
	list    []v1alpha1.Condition
}

// Open starts from the conditions that stand in the object: retired types are removed and missing ones added as Unknown, since the creation of the
// object. The given list is not changed.
func (t Types) Open(existing []v1alpha1.Condition, subject Subject, now time.Time) *Ledger {
	l := &Ledger{types: t, subject: subject, now: seconds(now)}
	for _, c := range existing {
		if !slices.Contains(t.Retired, c.Type) && l.find(c.Type) < 0 {
			c.LastTransitionTime = seconds(c.LastTransitionTime.Time)
			l.list = append(l.list, c)
		}
	}
	for _, typ := range append([]string{t.Root}, t.Dependents...) {
		if l.find(typ) >= 0 {
			continue
		}
		l.list = append(l.list, v1alpha1.Condition{
			Type:               typ,
			Status:             metav1.ConditionUnknown,
			ObservedGeneration: subject.Generation,
			LastTransitionTime: seconds(subject.Created),
			Reason:             ReasonAwaiting,
			Message:            `condition "` + typ + `" is awaiting reconciliation`,
		})
	}
	l.sort()
	return l
}

// True records that the condition holds.
func (l *Ledger) True(typ, reason, message string) {
	l.Set(typ, metav1.ConditionTrue, reason, message)
}

// False records that the condition does not hold.
func (l *Ledger) False(typ, reason, message string) {
	l.Set(typ, metav1.ConditionFalse, reason, message)
}

// Unknown records that it is not known whether the condition holds.
func (l *Ledger) Unknown(typ, reason, message string) {
	l.Set(typ, metav1.ConditionUnknown, reason, message)
}

// Set records a finding and brings the root up to date. A finding that already stands there changes nothing.
func (l *Ledger) Set(typ string, status metav1.ConditionStatus, reason, message string) {
	l.put(typ, status, reason, message)
	if typ != l.types.Root {
		l.sumUp()
	}
}

// Drop removes a condition and brings the root up to date.
func (l *Ledger) Drop(typ string) {
	at := l.find(typ)
	if at < 0 {
		return
	}
	l.list = slices.Delete(l.list, at, at+1)
	l.sumUp()
}

// Get returns the condition of a type.
func (l *Ledger) Get(typ string) (v1alpha1.Condition, bool) {
	at := l.find(typ)
	if at < 0 {
		return v1alpha1.Condition{}, false
	}
	return l.list[at], true
}

// Is says whether the condition of a type is True, for whatever generation.
func (l *Ledger) Is(typ string) bool {
	at := l.find(typ)
	return at >= 0 && l.list[at].Status == metav1.ConditionTrue
}

// Ready says whether the root is True for the present generation.
func (l *Ledger) Ready() bool {
	at := l.find(l.types.Root)
	return at >= 0 && l.list[at].Status == metav1.ConditionTrue && l.list[at].ObservedGeneration == l.subject.Generation
}

// List returns a copy of the conditions in the order in which they are written.
func (l *Ledger) List() []v1alpha1.Condition {
	return slices.Clone(l.list)
}

func (l *Ledger) find(typ string) int {
	return slices.IndexFunc(l.list, func(c v1alpha1.Condition) bool { return c.Type == typ })
}

func (l *Ledger) put(typ string, status metav1.ConditionStatus, reason, message string) {
	next := v1alpha1.Condition{
		Type: typ, Status: status, Reason: reason, Message: message,
		ObservedGeneration: l.subject.Generation,
		LastTransitionTime: l.now,
	}
	at := l.find(typ)
	if at >= 0 {
		old := l.list[at]
		if old.Status == status {
			next.LastTransitionTime = old.LastTransitionTime
		}
		if old == next {
			l.touch()
			return
		}
		l.list = slices.Delete(l.list, at, at+1)
	}
	l.list = append(l.list, next)
	l.touch()
	l.sort()
}

// touch keeps the conditions of an object that is being deleted at its generation: the deletion mark raises the generation, and no reconcile will look
// at the other conditions again.
func (l *Ledger) touch() {
	if !l.subject.Deleting {
		return
	}
	for i := range l.list {
		l.list[i].ObservedGeneration = l.subject.Generation
	}
}

// sort orders by the time of the last change, the root last. Conditions of one second stand in the declared order, others after them in the order
// in which they came.
func (l *Ledger) sort() {
	slices.SortStableFunc(l.list, func(a, b v1alpha1.Condition) int {
		if (a.Type == l.types.Root) != (b.Type == l.types.Root) {
			if a.Type == l.types.Root {
				return 1
			}
			return -1
		}
		if c := a.LastTransitionTime.Compare(b.LastTransitionTime.Time); c != 0 {
			return c
		}
		return l.types.rank(a.Type) - l.types.rank(b.Type)
	})
}

// rank is the place of a type in the declared order; undeclared types come after all.
func (t Types) rank(typ string) int {
	if at := slices.Index(t.Dependents, typ); at >= 0 {
		return at
	}
	return len(t.Dependents)
}

// sumUp writes the root: True when every dependent is True for the present generation, else a copy of the worst one. False is worse than Unknown;
// between equals the one that changed last counts. Dependents that are True but stem from an earlier generation leave the root as it is.
func (l *Ledger) sumUp() {
	var worst *v1alpha1.Condition
	stale := false
	for _, typ := range l.types.Dependents {
		at := l.find(typ)
		if at < 0 {
			continue
		}
		c := &l.list[at]
		if c.Status == metav1.ConditionTrue {
			stale = stale || c.ObservedGeneration != l.subject.Generation
			continue
		}
		if worst == nil || worse(c, worst) {
			worst = c
		}
	}
	if worst != nil {
		l.put(l.types.Root, worst.Status, worst.Reason, worst.Message)
		return
	}
	if !stale {
		l.put(l.types.Root, metav1.ConditionTrue, ReasonReady, "")
	}
}

// worse says whether a outranks b, both not True.
func worse(a, b *v1alpha1.Condition) bool {
	if (a.Status == metav1.ConditionFalse) != (b.Status == metav1.ConditionFalse) {
		return a.Status == metav1.ConditionFalse
	}
	return a.LastTransitionTime.After(b.LastTransitionTime.Time)
}

// seconds drops what does not survive on the wire. Times read from the wire come back in the local zone; they are compared as values here, so all are
// brought to one form.
func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Truncate(time.Second).Local())
}
