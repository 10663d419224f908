// Package conditions keeps the status.conditions of one object: definitions, revisions and instances share its rules.
//
// In come the conditions that stand in the object, the facts about it that conditions depend on (generation, creation, deletion) and what a
// reconcile found out; out goes the new list. Nothing here reads a clock or a cluster: the time is a parameter, so the same findings give the same
// list.
//
//	ledger := conditions.Types{Root: "Ready", Dependents: []string{"Compiled", "Served"}}.Open(obj.Status.Conditions, conditions.Of(obj), now)
//	ledger.True("Compiled", "Valid", "the graph is valid")
//	ledger.False("Served", "Failed", err.Error())
//	obj.Status.Conditions = ledger.List() // Ready is False/Failed now
//
// The rules are those of kro 0.9: the root sums up its dependents; the list is sorted by the time of the last change, the root last; a time moves only
// when a status does. Times are whole seconds, as they are on the wire, and equal times are kept in the declared order, so that a list which was
// written and read again compares equal and does not wander.
package conditions
