package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// world is all that the server has at one moment.
type world struct {
	inputs
	apps    []app
	objects []object // those with kro's labels
}

// findings are what is wrong with a world.
type findings struct {
	orphans     []string // objects of instances that are gone
	differences []string // objects and instances that are not as they should be
}

func (f findings) none() bool { return len(f.orphans) == 0 && len(f.differences) == 0 }

// String lists the first of each sort.
func (f findings) String() string {
	var text strings.Builder
	for _, sort := range []struct {
		name string
		all  []string
	}{{"orphans", f.orphans}, {"differences", f.differences}} {
		fmt.Fprintf(&text, "%d %s\n", len(sort.all), sort.name)
		for i, one := range sort.all {
			if i == 20 {
				fmt.Fprintf(&text, "  … and %d more\n", len(sort.all)-i)
				break
			}
			fmt.Fprintf(&text, "  %s\n", one)
		}
	}
	return text.String()
}

// compare finds everything that an undisturbed controller would have left otherwise. The order is that of names.
func compare(w world) findings {
	var f findings
	present := map[string]object{}
	alive := map[string]bool{}
	for _, a := range w.apps {
		alive[a.Metadata.UID] = true
	}
	for _, o := range w.objects {
		if !alive[o.label(instanceLabel)] {
			f.orphans = append(f.orphans, fmt.Sprintf("%s belongs to instance %q, which is gone", o.key(), o.label(instanceLabel)))
			continue
		}
		present[o.key()] = o
	}
	for _, a := range w.apps {
		f.differences = append(f.differences, instanceFaults(a)...)
		for _, want := range expected(a, w.inputs) {
			got, found := present[want.key()]
			delete(present, want.key())
			if !found {
				f.differences = append(f.differences, want.key()+" is missing")
				continue
			}
			f.differences = append(f.differences, objectFaults(want, got)...)
		}
	}
	for key, o := range present {
		f.differences = append(f.differences, fmt.Sprintf("%s of node %q should not be there", key, o.label("kro.run/node-id")))
	}
	slices.Sort(f.orphans)
	slices.Sort(f.differences)
	return f
}

// instanceFaults are what is wrong with what an instance says of itself.
func instanceFaults(a app) []string {
	var found []string
	wrong := func(format string, args ...any) {
		found = append(found, a.kind()+" "+a.Metadata.Name+": "+fmt.Sprintf(format, args...))
	}
	held := finalizer
	if a.graph {
		held = graphFinalizer
	} else {
		found = append(found, statusFaults(a)...)
	}
	if !slices.Contains(a.Metadata.Finalizers, held) {
		wrong("it has no finalizer")
	}
	if observed := readyGeneration(a); observed != a.Metadata.Generation {
		wrong("Ready speaks of generation %d, not of %d", observed, a.Metadata.Generation)
	}
	return found
}

// statusFaults are what is wrong with the status that the definition computes. Graphs have none.
func statusFaults(a app) []string {
	var found []string
	wrong := func(format string, args ...any) {
		found = append(found, appKind+" "+a.Metadata.Name+": "+fmt.Sprintf(format, args...))
	}
	if state := a.Status["state"]; state != "ACTIVE" {
		wrong("state is %v, want ACTIVE", state)
	}
	if service := a.Status["service"]; service != a.Metadata.Name {
		wrong("status.service is %v, want %s", service, a.Metadata.Name)
	}
	if parts := a.Status["parts"]; parts != float64(len(a.Spec.Entries)) {
		wrong("status.parts is %v, want %d", parts, len(a.Spec.Entries))
	}
	return found
}

// readyGeneration is the generation that the condition Ready speaks of, 0 unless it is True.
func readyGeneration(a app) int64 {
	conditions, _ := a.Status["conditions"].([]any)
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" {
			generation, _ := condition["observedGeneration"].(float64)
			return int64(generation)
		}
	}
	return 0
}

// objectFaults are the fields of an object that are not as they should be. Fields that the server fills in, and those that
// others added, are no fault; but the data of a ConfigMap are kro's alone.
func objectFaults(want, got object) []string {
	var found []string
	for _, d := range differences("", map[string]any(want), map[string]any(got)) {
		found = append(found, want.key()+": "+d)
	}
	wanted, _ := want["data"].(map[string]any)
	data, _ := got["data"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if _, known := wanted[key]; !known && wanted != nil {
			found = append(found, fmt.Sprintf("%s: data.%s should not be there", want.key(), key))
		}
	}
	if _, leaving := got.meta()["deletionTimestamp"]; leaving {
		found = append(found, want.key()+": it is being deleted")
	}
	return found
}

// differences tells where a value does not hold what is wanted. Lists must have the same length.
func differences(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want an object", path, got)}
		}
		var found []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			found = append(found, differences(strings.TrimPrefix(path+"."+key, "."), want[key], fields[key])...)
		}
		return found
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
		}
		var found []string
		for i := range want {
			found = append(found, differences(fmt.Sprintf("%s[%d]", path, i), want[i], items[i])...)
		}
		return found
	}
	if want != got {
		return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
	}
	return nil
}
